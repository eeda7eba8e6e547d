-- Fills `logins` with 200,000 events, the same in every run. The size of the tenants follows a
-- power law: the largest of the 1,000 has a fifth of the events, the smallest a few. Large
-- tenants have many users, up to 2,000.
--
-- Instead of random numbers: the multiples of two irrational numbers, modulo 1, spread evenly.
WITH event AS (
	SELECT n, (n * 0.7548776662466927 % 1)::float AS u, (n * 0.5698402909980532 % 1)::float AS v
	FROM generate_series(1, 200000) n
), by_tenant AS (
	SELECT n, v, floor(power(1 - u * (1 - power(1001, -0.3::float)), -1 / 0.3::float))::int AS tenant
	FROM event
), by_user AS (
	SELECT n, tenant, floor(v * (2 + 2000 / tenant))::int AS usr
	FROM by_tenant
)
INSERT INTO logins
SELECT (ARRAY['Contoso', 'Fabrikam', 'Northwind', 'Tailspin', 'Wingtip', 'Litware', 'Proseware', 'Woodgrove',
			  'Adatum', 'Relecloud', 'Munson', 'Lamna', 'Bellows', 'Coho', 'VanArsdel', 'Treyford',
			  'Alpine', 'Aurora', 'Beacon', 'Birch', 'Cobalt', 'Delta', 'Ember', 'Falcon',
			  'Granite', 'Harbor', 'Island', 'Juniper', 'Kestrel', 'Lantern', 'Meridian', 'Nimbus',
			  'Orchard', 'Pioneer', 'Quarry', 'River', 'Summit', 'Timber', 'Upland', 'Valley'])
		   [(tenant - 1) % 40 + 1] ||
	   (ARRAY['', ' Bank', ' Foods', ' Health', ' Travel', ' Media', ' Motors', ' Energy', ' Books', ' Toys',
			  ' Music', ' Sports', ' Games', ' Garden', ' Paper', ' Steel', ' Glass', ' Tools', ' Shoes', ' Coffee',
			  ' Films', ' Labs', ' Law', ' Art', ' Wine'])[(tenant - 1) / 40 + 1],
	   (ARRAY['amira', 'ben', 'carla', 'dmitri', 'elena', 'femi', 'grace', 'hiro', 'ines', 'jonas',
			  'kavita', 'liam', 'mei', 'nadia', 'omar', 'paula', 'quinn', 'rosa', 'sven', 'tariq'])[usr % 20 + 1] ||
	   usr / 20 + 1,
	   n,
	   timestamptz '2025-01-01 00:00:00Z' + n * interval '39 seconds',
	   inet '10.0.0.0' + (tenant * 65536 + usr) % 16777216
FROM by_user;
