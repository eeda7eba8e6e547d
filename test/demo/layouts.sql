-- The same events in the other layouts, with as many partitions.

-- The application writes the synthetic key and reads by it. The columns that it is made of stay,
-- and the tenant has an index, for the reads that the key does not serve.
CREATE TABLE logins_synthetic (
	tenant_user text, LIKE logins,
	PRIMARY KEY (tenant_user, event_id)
) PARTITION BY HASH (tenant_user);

CREATE TABLE logins_flat (
	LIKE logins,
	PRIMARY KEY (tenant_id, user_id, event_id)
) PARTITION BY HASH (tenant_id, user_id);

CREATE TABLE logins_tenant (
	LIKE logins,
	PRIMARY KEY (tenant_id, user_id, event_id)
) PARTITION BY HASH (tenant_id);

DO $$
DECLARE
	layout text;
BEGIN
	FOREACH layout IN ARRAY '{logins_synthetic,logins_flat,logins_tenant}'::text[] LOOP
		FOR n IN 0 .. 15 LOOP
			EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
						   layout || '_' || n, layout, n);
		END LOOP;
	END LOOP;
END $$;

INSERT INTO logins_synthetic SELECT tenant_id || '_' || user_id, * FROM logins ORDER BY event_id;
INSERT INTO logins_flat SELECT * FROM logins ORDER BY event_id;
INSERT INTO logins_tenant SELECT * FROM logins ORDER BY event_id;
CREATE INDEX ON logins_synthetic (tenant_id);
VACUUM ANALYZE logins_synthetic, logins_flat, logins_tenant;
