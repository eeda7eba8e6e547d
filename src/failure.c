/*
 * failure.c
 *		Going on after an error.
 *
 * Procedures that look after many things must not stop at the first that fails.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "utils/resowner.h"

#include "failure.h"

void
FailureContain(Action action, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		action(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		ReThrowError(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/* Whether an error is meant for the whole of the call: a cancel, or the session's end. */
static bool
ends_call(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION;
}

bool
FailureTell(int elevel, Action action, void *arg, const char *what)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = true;

	PG_TRY();
	{
		action(arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ends_call(error))
			PG_RE_THROW();
		FlushErrorState();
		SPI_rollback();
		MemoryContextSwitchTo(context);
		ereport(elevel,
				(errmsg("%s", what),
				 errdetail("The error was: %s.%s%s", error->message, error->detail ? " " : "", error->detail ? error->detail : ""),
				 error->hint ? errhint("%s", error->hint) : 0));
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return done;
}

bool
FailureWarn(Action action, void *arg, const char *what)
{
	return FailureTell(WARNING, action, arg, what);
}
