# minikafka: built with PGXS.
#
#   make                 builds minikafka.so and sql/minikafka--VERSION.sql
#   make install         installs both (as root)
#   make installcheck    regression and isolation tests, on a running server
#   make pgtap           pgTAP tests, on a running server
#   make prove           TAP tests, which start servers of their own
#   make unit            unit tests of the files that need no server
#   make format          lays out the C files (clang-format 14)
#
# STRICT=1 turns on all warnings and makes them errors, as CI does.  SANITIZE=1
# builds with checks for undefined behaviour, and the unit tests also with those
# for addresses.
# "bash test/run.sh" does everything, with a server of its own.

PG_CONFIG ?= pg_config

EXTENSION  = minikafka
MODULE_big = minikafka
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" minikafka.control)
# The library tells whether the SQL objects are of its version.
PG_CPPFLAGS = -DMK_VERSION='"$(EXTVERSION)"'
OBJS       = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))

# The install script is these parts, in this order.  (PGXS has uses of its own
# for the names VERSION and INSTALL_SCRIPT.)
SQL_PARTS = 00_schema 10_catalog 12_share 13_share_parked 14_schedule \
            15_dead_letter 20_topic 30_produce 35_schedule 40_consume 45_group 46_share 47_pipeline \
            48_dead_letter 50_admin 60_views 62_share_views 64_dead_letter_views 90_rights
EXTENSION_SQL = sql/minikafka--$(EXTVERSION).sql
DATA_built = $(EXTENSION_SQL)
# Scripts that upgrade from one version to another.
DATA       = $(wildcard sql/minikafka--*--*.sql)

# Both kinds of tests find their expected output in expected/.  PGXS would
# have the isolation tests look in output_iso/expected, hence --outputdir.
REGRESS        = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS   = --inputdir=test --load-extension=minikafka
ISOLATION      = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=minikafka

# The other kinds: files to run, and options for prove.
PGTAP_TESTS ?= $(sort $(wildcard test/pgtap/*.sql))
PROVE_TESTS ?= $(sort $(wildcard test/t/*.t))
UNIT_TESTS  ?= $(sort $(wildcard test/unit/*.c))
PROVE_FLAGS ?=
PGTAP_DB     = minikafka_pgtap

EXTRA_CLEAN = tmp_check output_iso results regression.diffs regression.out

# Bitcode for the JIT compiler gains nothing here, and making it needs clang.
override with_llvm = no

ifdef STRICT
# PG_FUNCTION_ARGS and callbacks have arguments that not every function uses.
# -isystem: warnings in PostgreSQL's own headers are not ours to mend.
PG_CFLAGS += -Wall -Wextra -Werror -Wno-unused-parameter \
             -isystem $(shell $(PG_CONFIG) --includedir-server)
ifneq (,$(findstring clang,$(CC)))
# PGXS and pg_config.h note what gcc knows, which clang does not all know.
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument \
             -Wno-ignored-attributes -Wno-compound-token-split-by-macro
endif
endif

# What has undefined behaviour ends the process; variables on the stack that are
# read before they are set have an improbable value.
ifdef SANITIZE
SANITIZER  = -fsanitize=undefined -fno-sanitize-recover=all \
             -fno-omit-frame-pointer
PG_CFLAGS += $(SANITIZER) -ftrivial-auto-var-init=pattern
SHLIB_LINK += $(SANITIZER)
UNIT_FLAGS = $(SANITIZER) -fsanitize=address
endif

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

ifeq (,$(EXTVERSION))
$(error minikafka.control has no default_version)
endif

# One header is used by many files and the whole builds in seconds, so: all.
$(OBJS): $(wildcard src/*.h) minikafka.control

# minikafka.control is among the prerequisites because EXTVERSION is read there.
$(EXTENSION_SQL): $(SQL_PARTS:%=sql/parts/%.sql) minikafka.control
	cat $(filter %.sql,$^) > $@.tmp && mv $@.tmp $@

# A part that is in the folder and not in SQL_PARTS was forgotten there.
ifneq (,$(filter-out $(SQL_PARTS:%=sql/parts/%.sql),$(wildcard sql/parts/*.sql)))
$(error not in SQL_PARTS: $(filter-out $(SQL_PARTS:%=sql/parts/%.sql),$(wildcard sql/parts/*.sql)))
endif

# The unit tests are linked with the files that know nothing of the server.
PURE_SRC  = src/mk_murmur2.c src/mk_assignor.c
UNIT_BINS = $(patsubst test/unit/%.c,tmp_check/unit/%,$(UNIT_TESTS))

tmp_check/unit/%: test/unit/%.c $(PURE_SRC) $(wildcard src/*.h test/unit/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(UNIT_FLAGS) -DFRONTEND -Isrc $(CPPFLAGS) $< $(PURE_SRC) -o $@

.PHONY: unit pgtap prove format
unit: $(UNIT_BINS)
	@status=0; \
	for t in $(UNIT_BINS); do \
	  echo "# $$t"; ./$$t || { echo "# status $$?"; status=1; }; \
	done; \
	exit $$status

# One database with both extensions for all pgTAP files.
pgtap:
	$(bindir)/dropdb --if-exists $(PGTAP_DB)
	$(bindir)/createdb $(PGTAP_DB)
	$(bindir)/psql -X -q -v ON_ERROR_STOP=1 -d $(PGTAP_DB) \
	  -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION minikafka'
	pg_prove --psql-bin $(bindir)/psql -d $(PGTAP_DB) $(PROVE_FLAGS) $(PGTAP_TESTS)

# Libraries for the TAP tests, which load them by path.
TEST_MODULES = $(patsubst test/modules/%.c,tmp_check/modules/%.so,\
                 $(wildcard test/modules/*.c))

tmp_check/modules/%.so: test/modules/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CFLAGS_SL) $(CPPFLAGS) -shared $< -o $@

# The environment is what PGXS sets for TAP_TESTS, which not every
# installation of PostgreSQL enables.  TESTDIR is for 15, the others for 16 up.
# The timeout ends what hangs: a loaded machine must not reach it.
prove: $(TEST_MODULES)
	@mkdir -p tmp_check
	PATH="$(bindir):$$PATH" PG_REGRESS='$(pg_regress_bin)' \
	TESTDIR='$(CURDIR)' TESTDATADIR='$(CURDIR)/tmp_check' \
	TESTLOGDIR='$(CURDIR)/tmp_check/log' top_builddir='$(CURDIR)' \
	PG_TEST_TIMEOUT_DEFAULT=$${PG_TEST_TIMEOUT_DEFAULT:-1800} \
	PERL5LIB="$(perl_test_dir)$${PERL5LIB:+:$$PERL5LIB}" \
	prove $(PROVE_FLAGS) $(PROVE_TESTS)

# Lays out the C files as CI wants them.
CLANG_FORMAT ?= clang-format-14
format:
	$(CLANG_FORMAT) -i $(wildcard src/*.[ch] test/unit/*.[ch])

pgxs_src       = $(abspath $(dir $(PGXS))/..)
pg_regress_bin = $(pgxs_src)/test/regress/pg_regress
perl_test_dir  = $(pgxs_src)/test/perl
