-- The medians of what was measured, and the table of the figures wanted.

SELECT E'| measured | variant | median | min | max | rounds |\n| --- | --- | --- | --- | --- | --- |';
SELECT format('| %s | %s | %s | %s | %s | %s |', figure, variant,
    bench.quantity(figure, variant, percentile_cont(0.5) WITHIN GROUP (ORDER BY value)),
    bench.quantity(figure, variant, min(value)), bench.quantity(figure, variant, max(value)), count(*))
FROM bench.measurement
GROUP BY figure, variant
ORDER BY figure, variant;

SELECT E'\n| name | compared | measured | min - max of the rounds | wanted | |\n| --- | --- | --- | --- | --- | --- |';
SELECT format('| %s | %s | %s | %s - %s | %s | %s |', name, compared, median, least, greatest,
    wanted || ' ' || round(bound::numeric, 2),
    CASE wanted WHEN 'at most' THEN CASE WHEN median <= bound THEN 'ok' ELSE 'missed' END
                WHEN 'at least' THEN CASE WHEN median >= bound THEN 'ok' ELSE 'missed' END END)
FROM bench.comparison
JOIN (
    SELECT place, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio))::numeric, 2) AS median,
        round(min(ratio)::numeric, 2) AS least, round(max(ratio)::numeric, 2) AS greatest
    FROM bench.ratio
    GROUP BY place) r USING (place)
ORDER BY place;
