/*
 * itemresult.h
 *		An item as it is given to the reader: its document with the properties _etag and _ts.
 */
#ifndef PARTITIONKEY_ITEMRESULT_H
#define PARTITIONKEY_ITEMRESULT_H

#include "datatype/timestamp.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

/*
 * A document with its etag, a string, and its time, the whole seconds since 1970, in place of any that it
 * has; palloc'd.  What the row has none of is left as it is in the document, which may be given back as it is.
 */
extern Jsonb *ItemResult(Jsonb *doc, bool has_etag, const pg_uuid_t *etag, bool has_ts, TimestampTz ts);

#endif							/* PARTITIONKEY_ITEMRESULT_H */
