/*
 * failure.h
 *		Going on after an error.
 */
#ifndef PARTITIONKEY_FAILURE_H
#define PARTITIONKEY_FAILURE_H

#include "postgres.h"

typedef void (*Action) (void *arg);

/*
 * Do something that does not commit, in a subtransaction: so that the error it
 * may throw leaves nothing behind that would keep a caller from going on.
 */
extern void FailureContain(Action action, void *arg);

/*
 * Do something in a procedure that commits between its steps.  If it fails, warn
 * with the words given, which say what was not done and where; what had not been
 * committed is undone, and locks of the session are gone.  False if it failed.
 * Whatever in it runs code of users must be contained.  Needs SPI.
 */
extern bool FailureWarn(Action action, void *arg, const char *what);

/* The same with another level than WARNING. */
extern bool FailureTell(int elevel, Action action, void *arg, const char *what);

#endif							/* PARTITIONKEY_FAILURE_H */
