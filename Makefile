# partitionkey: `make demo` shows it, `make test` tests it, both from nothing.
# `make && make install` builds for the PostgreSQL of PG_CONFIG, as every PGXS module does.

EXTENSION = partitionkey
MODULE_big = partitionkey
DATA = partitionkey--1.0.sql
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))
SOURCE_HEADERS = $(wildcard src/*.h)

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=partitionkey
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --load-extension=partitionkey --inputdir=test/isolation --outputdir=test/isolation
PROVE_TESTS = $(sort $(wildcard test/t/*.pl))
PROVE_FLAGS = -I $(dir $(PGXS))/../test/perl

# The server's headers count as the system's, so that warnings are about this code alone.
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS = -Wall -Wextra -O2
SHLIB_LINK = -lz
EXTRA_CLEAN = test/isolation/output_iso test/isolation/results tmp_check log

# The newest server on the machine, unless the caller names one.
PG_CONFIG ?= $(or $(lastword $(shell ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V)),pg_config)

.DEFAULT_GOAL := all

# The targets that set up everything themselves must work before there is a pg_config.
SELF_CONTAINED = setup test demo demo-stop bench
.PHONY: $(SELF_CONTAINED)

setup:
	@test/setup
test: setup
	@test/run
demo: setup
	@test/demo/run
demo-stop:
	@test/demo/run stop
bench: setup
	@test/bench/run

ifneq ($(filter-out $(SELF_CONTAINED),$(or $(MAKECMDGOALS),all)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
$(OBJS): $(SOURCE_HEADERS)
endif
