-- The same events in the other layouts, with as many partitions, and the reads for each.

-- Synthetic key: one column TenantId_UserId, which the application writes and reads by. The
-- properties it is made of stay there, and the tenant has an index.
CREATE TABLE logins_synthetic (
	tenant_user text, tenant_id text, user_id text, event_id bigint, at timestamptz, ip inet,
	PRIMARY KEY (tenant_user, event_id)
) PARTITION BY HASH (tenant_user);

CREATE TABLE logins_flat (
	tenant_id text, user_id text, event_id bigint, at timestamptz, ip inet,
	PRIMARY KEY (tenant_id, user_id, event_id)
) PARTITION BY HASH (tenant_id, user_id);

CREATE TABLE logins_tenant (
	tenant_id text, user_id text, event_id bigint, at timestamptz, ip inet,
	PRIMARY KEY (tenant_id, user_id, event_id)
) PARTITION BY HASH (tenant_id);

SELECT format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)', layout || '_' || n, layout, n)
FROM unnest('{logins_synthetic,logins_flat,logins_tenant}'::text[]) layout, generate_series(0, 15) n
\gexec

INSERT INTO logins_synthetic SELECT tenant_id || '_' || user_id, * FROM logins ORDER BY event_id;
INSERT INTO logins_flat SELECT * FROM logins ORDER BY event_id;
INSERT INTO logins_tenant SELECT * FROM logins ORDER BY event_id;
CREATE INDEX ON logins_synthetic (tenant_id);
VACUUM ANALYZE logins_synthetic, logins_flat, logins_tenant;

INSERT INTO demo.reads (layout, read, query)
SELECT layout, read, format(query, layout)
FROM unnest('{logins,logins_flat,logins_tenant}'::regclass[]) layout,
	 (VALUES (1, :'all_of_tenant'), (2, :'user_of_tenant'), (3, :'one_event')) reads (read, query);
