/*
 * belongings.c
 *		What a table has, as the commands that give it to another.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "belongings.h"
#include "compat.h"
#include "dualwrite.h"
#include "fitness.h"
#include "sql.h"

/* The commands that make some objects, as ruleutils writes them. */
static List *
definitions(List *oids, char *(*definition) (Oid))
{
	List	   *commands = NIL;
	ListCell   *cell;

	foreach(cell, oids)
		commands = lappend(commands, definition(lfirst_oid(cell)));
	return commands;
}

List *
ConstraintCommands(Oid relid, const char *condition)
{
	return definitions(SqlOids("SELECT oid FROM pg_constraint WHERE conrelid = %u AND conparentid = 0 AND %s"
							   " ORDER BY contype <> 'p', oid", relid, condition),
					   pg_get_constraintdef_command);
}

List *
IndexCommands(Oid relid)
{
	return definitions(SqlOids("SELECT indexrelid FROM pg_index i WHERE indrelid = %u AND NOT EXISTS"
							   " (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x')) ORDER BY 1", relid),
					   pg_get_indexdef_string);
}

List *
IndexOptionCommands(Oid relid)
{
	return SqlStrings("SELECT format('ALTER INDEX %%I.%%I ALTER COLUMN %%s SET STATISTICS %%s', n.nspname, c.relname, a.attnum, a.attstattarget)"
					  " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
					  " JOIN pg_attribute a ON a.attrelid = c.oid WHERE i.indrelid = %u AND a.attstattarget >= 0", relid);
}

List *
StatisticsCommands(Oid relid)
{
	List	   *commands = SqlStrings("SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = %u ORDER BY oid", relid);

	return list_concat(commands,
					   SqlStrings("SELECT format('ALTER STATISTICS %%I.%%I SET STATISTICS %%s', n.nspname, stxname, stxstattarget)"
								  " FROM pg_statistic_ext JOIN pg_namespace n ON n.oid = stxnamespace WHERE stxrelid = %u AND stxstattarget >= 0", relid));
}

/*
 * Statistics targets and comments that LIKE doesn't carry, for a table made so.
 * Where names are made anew, what belongs together is what is defined alike.
 */
void
CarryDetails(Oid relid, Oid to)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER INDEX %%s ALTER COLUMN %%s SET STATISTICS %%s', n.indexrelid::regclass, a.attnum, a.attstattarget)"
							 " FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid JOIN pg_index n ON n.indrelid = %u AND " INDEXES_ALIKE
							 " WHERE i.indrelid = %u AND a.attstattarget >= 0", to, relid));
	SqlExecuteAll(SqlStrings("SELECT format('ALTER STATISTICS %%s.%%I SET STATISTICS %%s', n.stxnamespace::regnamespace, n.stxname, s.stxstattarget)"
							 " FROM pg_statistic_ext s JOIN pg_statistic_ext n ON n.stxrelid = %u AND n.stxkind = s.stxkind"
							 " AND pg_get_statisticsobjdef_columns(n.oid) = pg_get_statisticsobjdef_columns(s.oid)"
							 " WHERE s.stxrelid = %u AND s.stxstattarget >= 0", to, relid));
	SqlExecuteAll(SqlStrings("SELECT format('COMMENT ON CONSTRAINT %%I ON %%s IS %%L', n.conname, %s, description)"
							 " FROM pg_constraint c JOIN pg_description ON classoid = 'pg_constraint'::regclass AND objoid = c.oid"
							 " JOIN pg_constraint n ON n.conrelid = %u AND n.contype = c.contype AND CASE n.contype WHEN 'f' THEN n.conname = c.conname"
							 " ELSE pg_get_constraintdef(n.oid) = pg_get_constraintdef(c.oid) END WHERE c.conrelid = %u AND c.contype <> 'c'",
							 quote_literal_cstr(QualifiedName(to)), to, relid));
}

List *
RuleCommands(Oid relid, const char *table)
{
	List	   *commands = SqlStrings("SELECT head || %s || substr(pg_get_ruledef(oid), length(head || %s) + 1) FROM pg_rewrite,"
									  " format(E'CREATE RULE %%I AS\\n    ON %%s TO ', rulename,"
									  " CASE ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END) head"
									  " WHERE ev_class = %u ORDER BY oid",
									  quote_literal_cstr(table), quote_literal_cstr(QualifiedName(relid)), relid);

	return list_concat(commands,
					   SqlStrings("SELECT format('ALTER TABLE %%s %%s RULE %%I', %s,"
								  " CASE ev_enabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, rulename)"
								  " FROM pg_rewrite WHERE ev_class = %u AND ev_enabled <> 'O'",
								  quote_literal_cstr(table), relid));
}

List *
TriggerCommands(Oid relid, const char *table)
{
	char	   *from = psprintf(" ON %s ", QualifiedName(relid));
	/* The definition names the table it is from. */
	List	   *commands = SqlStrings("SELECT left(def, at - 1) || %s || substr(def, at + length(%s))"
									  " FROM pg_trigger, pg_get_triggerdef(oid) def, position(%s in def) at"
									  " WHERE tgrelid = %u AND NOT tgisinternal AND tgparentid = 0 AND tgname <> '" DUAL_WRITE_TRIGGER "' ORDER BY oid",
									  quote_literal_cstr(psprintf(" ON %s ", table)), quote_literal_cstr(from),
									  quote_literal_cstr(from), relid);

	return list_concat(commands,
					   SqlStrings("SELECT format('ALTER TABLE %%s %%s TRIGGER %%I', %s,"
								  " CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)"
								  " FROM pg_trigger WHERE tgrelid = %u AND NOT tgisinternal AND tgparentid = 0 AND tgenabled <> 'O' AND tgname <> '" DUAL_WRITE_TRIGGER "'",
								  quote_literal_cstr(table), relid));
}

List *
PolicyCommands(Oid relid, const char *table)
{
	List	   *commands = SqlStrings("SELECT format('CREATE POLICY %%I ON %%s', polname, %s) || " POLICY_TEXT
									  " FROM pg_policy WHERE polrelid = %u ORDER BY oid", quote_literal_cstr(table), relid);

	return list_concat(commands,
					   SqlStrings("SELECT format('ALTER TABLE %%s %%s ROW LEVEL SECURITY', %s, word) FROM pg_class,"
								  " (VALUES ('ENABLE'), ('FORCE')) w(word)"
								  " WHERE oid = %u AND CASE word WHEN 'ENABLE' THEN relrowsecurity ELSE relforcerowsecurity END",
								  quote_literal_cstr(table), relid));
}

List *
CommentCommands(Oid relid, const char *table, const char *condition)
{
	return SqlStrings("SELECT format(what || ' IS %%L', VARIADIC names || description) FROM pg_description d JOIN ("
					  " SELECT 'pg_class'::regclass::oid AS classoid, %u::oid AS objoid, 0 AS objsubid, 'COMMENT ON TABLE %%s' AS what, ARRAY[%s::text] AS names"
					  " UNION ALL SELECT 'pg_class'::regclass, attrelid, attnum, 'COMMENT ON COLUMN %%s.%%I', ARRAY[%s, attname::text]"
					  "  FROM pg_attribute WHERE attrelid = %u AND attnum > 0 AND NOT attisdropped"
					  " UNION ALL SELECT 'pg_constraint'::regclass, oid, 0, 'COMMENT ON CONSTRAINT %%I ON %%s', ARRAY[conname::text, %s] FROM pg_constraint WHERE conrelid = %u"
					  " UNION ALL SELECT 'pg_trigger'::regclass, oid, 0, 'COMMENT ON TRIGGER %%I ON %%s', ARRAY[tgname::text, %s] FROM pg_trigger WHERE tgrelid = %u"
					  " UNION ALL SELECT 'pg_policy'::regclass, oid, 0, 'COMMENT ON POLICY %%I ON %%s', ARRAY[polname::text, %s] FROM pg_policy WHERE polrelid = %u"
					  " UNION ALL SELECT 'pg_rewrite'::regclass, oid, 0, 'COMMENT ON RULE %%I ON %%s', ARRAY[rulename::text, %s] FROM pg_rewrite WHERE ev_class = %u"
					  " UNION ALL SELECT 'pg_class'::regclass, indexrelid, 0, 'COMMENT ON INDEX %%s', ARRAY[indexrelid::regclass::text] FROM pg_index WHERE indrelid = %u"
					  " UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, 0, 'COMMENT ON STATISTICS %%I.%%I', ARRAY[n.nspname::text, stxname]"
					  "  FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace WHERE stxrelid = %u"
					  ") o USING (classoid, objoid, objsubid) WHERE %s",
					  relid, quote_literal_cstr(table), quote_literal_cstr(table), relid,
					  quote_literal_cstr(table), relid, quote_literal_cstr(table), relid,
					  quote_literal_cstr(table), relid, quote_literal_cstr(table), relid, relid, relid, condition);
}

/* The clauses that leaves take over from the table: access method and storage parameters. */
char *
TableClauses(Form_pg_class table)
{
	List	   *options = SqlStrings("SELECT ' WITH (' || string_agg(format('%%s%%I=%%L', prefix, option_name, option_value), ', ') || ')'"
									 " FROM (SELECT '' AS prefix, reloptions FROM pg_class WHERE oid = %u"
									 "  UNION ALL SELECT 'toast.', reloptions FROM pg_class WHERE oid = %u) c,"
									 " pg_options_to_table(c.reloptions)",
									 table->oid, table->reltoastrelid);

	return psprintf("USING %s%s", quote_identifier(get_am_name(table->relam)),
					options != NIL ? (char *) linitial(options) : "");
}

/* What is told column by column, while both tables exist; leaves don't inherit it. */
void
CarryColumnOptions(Oid relid, Oid root)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s ALTER COLUMN %%I SET STATISTICS %%s', %s, attname, attstattarget)"
							 " FROM pg_attribute WHERE attrelid = %u AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0",
							 quote_literal_cstr(QualifiedName(root)), relid));
	/* The options that users set; newer servers keep one of their own here. */
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s ALTER COLUMN %%I SET (%%s = %%s)', t.relid, attname, option_name, option_value)"
							 " FROM pg_attribute, pg_options_to_table(attoptions), (SELECT relid FROM pg_partition_tree(%u) UNION SELECT %u::regclass) t"
							 " WHERE attrelid = %u AND attnum > 0 AND NOT attisdropped AND starts_with(option_name, 'n_distinct')",
							 root, root, relid));
}
