# CI runs `make check`. The README's two commands are `make demo` and `make test`.
SHELL := /bin/bash
export SWIFT ?= swift
RELEASE := .build/release
# If the toolchain has the static Swift runtime (on Linux), the binaries contain it, and a host needs no Swift. The
# binaries export no symbols, because no program looks symbols up in them by name. They have no debug information: no
# part of Baton reads it, and it takes time to build. The names of functions, which profilers need, are there.
RUNTIME = $(shell $(SWIFT)c -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
RELEASE_FLAGS = -c release -debug-info-format none $(if $(wildcard $(RUNTIME)_static/linux/libswiftCore.a),--static-swift-stdlib \
	-Xlinker --no-export-dynamic)
# What people install.
PROGRAMS := baton baton-worker baton-exec
# The seed of the faults. The same seed chooses the same moments for the faults.
SEED ?= 1
# Tests that start real servers and binaries. They run in a process of their own, because other tests kill every child
# process that they do not know.
APART := EndToEndTests|NUTTests|BusMockTests|NamespaceTests|HostTests|SinkTests
# Tests that compute for minutes and do not wait meanwhile. They run in a process of their own, because a test with a
# server would wait for the threads that they keep, and its connections would end.
COMPUTING := StoreConformanceTests|InterleavingTests|HistoryTests|SimulationTests|StarvationTests
SEEDS ?= 1000
# The size of each row of the fault table: brief (half of quick, for CI), quick, full (a fifth of long) or long.
# ROWS="workers power" runs only these rows.
TIER ?= quick
ROWS ?=
# How many random histories the contract is tried on: fewer than the usual 10,000 for CI.
HISTORIES = $(if $(STRICT),BATON_HISTORIES=500)
# With STRICT=1 a row of the faults or a test of the contract that this machine cannot run is a failure. CI sets it.
STRICT ?=
export STRICT
# The build folder of the tests. CI has one of their own, so that both builds run at once (see `lanes`).
TESTS = $(if $(STRICT),.build/tests,.build)
RUN_TESTS = Scripts/run-tests --scratch-path $(TESTS)
# CI does two things at once (see `lanes`). There a target waits until those in `after` have ended, and what computes for
# minutes gives way to the tests with servers and programs, whose waits have bounds. Elsewhere everything has its turn.
LANES ?=
after = $(if $(LANES),$(1))
LATER = $(if $(LANES),nice -n 19)
BUILT = $(if $(LANES),everything,release)
ifeq ($(LANES),)
.NOTPARALLEL:
endif
# Both builds of CI take a C file of a dependency from the same compilation.
ifneq ($(STRICT),)
export CC := $(CURDIR)/Scripts/clang-once
export CLANG := $(shell dirname "$$(readlink -f "$$(command -v $(SWIFT))")")/clang
export BATON_OBJECTS := $(CURDIR)/.build/objects
endif
# The program of `cron`. It asks Foundation for time zones, which a program with the static runtime cannot.
CRON_LINES = $(SWIFT) build $(if $(STRICT),-debug-info-format none) --scratch-path $(TESTS) --product cron-lines
# The promises of the contract that were proven by a test that ran, and the attacks that were refused. The tests write
# this file, and Scripts/check-contract reads it.
CONTRACT_LOG := $(CURDIR)/results/contract.log
# The build folder of the planted bugs, which other builds do not share, and the copy of the tree that has them.
PLANTED ?= .build/plants

# Notes that a stage begins, so that .ci/run can say when each one began.
stage = @mkdir -p results && echo "$$(date +%s) $(1)" >> results/stages

# All hand-written Swift files, for swift-format. Generated code is left as the generators write it.
SOURCES = find Package.swift Sources Tests Benchmarks Examples -name '*.swift' -not -path '*/Generated/*' -print0

.DEFAULT_GOAL := help
.PHONY: help demo test cron outside interop check lanes lint imports checks contract deploy api console pages format build release everything faults bench bench-peers bench-postgres bench-small simulate plants plants-in-tests fault-plants proto
.PHONY: resolved tests-built tests-set-up main-tests computing-tests program-tests postgres-tests postgres-demo proven test-faults

## help: lists the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk '{ i = index($$0, ": "); printf "  make %-11s %s\n", substr($$0, 1, i - 1), substr($$0, i + 2) }'

## demo: runs a coordinator and two workers, kills one worker and then the coordinator; the job succeeds nevertheless
demo: release
	Scripts/demo

## test: builds, runs every test (end to end and the demo on PostgreSQL too), and the quick faults on real binaries
test: everything main-tests computing-tests program-tests postgres-tests postgres-demo proven test-faults

# The versions of the packages. Both builds of CI read them, so they are written before. What the two lanes need is
# installed here, because only one of them could install at a time.
resolved:
	$(call stage,versions and set-up)
	Scripts/setup $(if $(LANES),sink faults postgres api console cron)
	$(SWIFT) package resolve
	mkdir -p .build/objects
	cmp -s Package.resolved .build/objects/Package.resolved \
	  || { rm -rf .build/objects/* && cp Package.resolved .build/objects; }

tests-built: | $(if $(STRICT),resolved)
	$(call stage,build of the tests)
	Scripts/setup
	$(RUN_TESTS) --build
	$(if $(LANES),$(CRON_LINES))

tests-set-up: | $(call after,resolved)
	Scripts/setup sink faults postgres
	Scripts/setup-sink
	mkdir -p $(dir $(CONTRACT_LOG)) && rm -f $(CONTRACT_LOG)

main-tests: tests-set-up tests-built
	$(call stage,main tests)
	BATON_CONTRACT_LOG=$(CONTRACT_LOG) Scripts/with-postgres $(RUN_TESTS) --skip-build --skip '$(APART)|$(COMPUTING)'

computing-tests: tests-set-up tests-built | $(call after,everything)
	$(call stage,tests that compute)
	$(HISTORIES) BATON_CONTRACT_LOG=$(CONTRACT_LOG) $(LATER) Scripts/with-postgres $(RUN_TESTS) --skip-build \
	  --filter '$(COMPUTING)'

program-tests: tests-set-up tests-built | $(call after,main-tests)
	$(call stage,tests with real programs)
	BATON_CONTRACT_LOG=$(CONTRACT_LOG) $(RUN_TESTS) --skip-build --filter '$(APART)'

# Without the attacks on the programs, which read and edit the store in its file.
postgres-tests: tests-set-up tests-built | $(call after,program-tests)
	$(call stage,tests on PostgreSQL)
	BATON_TEST_STORE=postgres Scripts/with-postgres --fsync $(RUN_TESTS) --skip-build --filter EndToEndTests \
	  --skip AttackTests
	Scripts/with-postgres --tls $(RUN_TESTS) --skip-build --filter PostgresTLSTests

postgres-demo: everything tests-set-up | $(call after,postgres-tests)
	$(call stage,demo on PostgreSQL)
	BATON_TEST_STORE=postgres Scripts/with-postgres --fsync Scripts/demo

# Compares what the contract and the attacks promise with what the tests have proven.
proven: main-tests computing-tests program-tests
	Scripts/check-contract --ran $(CONTRACT_LOG)

test-faults: everything tests-set-up | $(call after,postgres-demo)
	$(call stage,faults)
	Tests/Faults/faults --tier $(if $(STRICT),brief --strict,quick) --seed $(SEED)

# After `test`, with whose build it shares all but the package itself.
## outside: builds a package outside of this repository that uses the products, and runs its program and its test
outside: | $(call after,pages postgres-tests)
	$(call stage,outside)
	$(LATER) Scripts/check-outside $(TESTS)

## cron: compares the times of 100,000 random cron expressions with those of croniter, another program (CI: 20,000)
cron: | $(call after,computing-tests)
	$(call stage,cron)
	Scripts/setup cron
	Scripts/setup-cron
	$(if $(LANES),,$(CRON_LINES))
	$(LATER) Scripts/check-cron $(TESTS)/debug/cron-lines $(if $(STRICT),20000)

## interop: runs all tests with real servers (NUT, D-Bus, namespaces; MLflow, Phoenix, Prometheus); needs root
interop: everything
	Scripts/setup interop deploy sink
	Scripts/setup-sink
	Scripts/interop
	Scripts/interop-telemetry

## check: what CI runs (with STRICT=1): format, imports, the checks, the contract, tests, pages, some benchmarks
check: lint imports checks contract deploy
	$(MAKE) $(if $(STRICT),-j2 LANES=1) lanes

# What `check` runs after the checks that take seconds. In CI there are two lanes, because many stages wait for servers
# or for one processor core. In one lane the programs are built for release; then come the tests that compute, cron,
# api, pages and outside. In the other the tests are built and run, and after both builds the faults and the console.
lanes: test cron api console pages bench-small outside

## lint: fails if a file is not formatted, if a script is not valid, or if a planted bug does not fit the code any more
lint:
	$(call stage,lint)
	Scripts/setup
	tree=$$(mktemp -d) && Scripts/plant $$tree && rm -rf $$tree
	$(SOURCES) | xargs -0 $(SWIFT) format lint --strict --parallel --configuration .swift-format
	for file in $$(grep -lE '^#!/bin/bash' Scripts/* .ci/*); do bash -n $$file || exit 1; done

## imports: fails if a module imports a module that stands below it in ARCHITECTURE.md
imports:
	Scripts/check-imports

## deploy: fails if Prometheus would refuse the rules, the dashboard or the metrics of Deploy/
deploy:
	$(call stage,deploy)
	Scripts/setup deploy
	Scripts/check-deploy

## checks: breaks what the checks look at, and fails if a check does not notice it
checks:
	$(call stage,checks)
	Scripts/check-checks

## contract: fails if a promise or an attack has no test, or if their pages are old (Scripts/check-contract --write)
contract:
	Scripts/check-contract

## api: fails if the HTTP API and its description (Documentation/openapi.yaml) differ; makes thousands of calls
api: $(BUILT) | $(call after,cron)
	$(call stage,api)
	Scripts/setup api
	Scripts/setup-api
	$(LATER) Scripts/check-api $(RELEASE)

## console: uses the web console in a real browser: every page in every view, by keyboard, live, and with attacks
console: $(BUILT) | $(call after,test-faults)
	$(call stage,console)
	Scripts/setup console
	Scripts/setup-console
	Scripts/check-console $(RELEASE) --shots results/console

## pages: runs what the pages show: validates every job file, runs the marked shell blocks (README, tutorial, cookbook)
pages: everything | $(call after,api)
	$(call stage,pages)
	Scripts/check-pages $(RELEASE)

## format: brings every Swift file into shape
format:
	$(SOURCES) | xargs -0 $(SWIFT) format format --in-place --parallel --configuration .swift-format

## build: builds everything for debugging, including the tests
build:
	Scripts/setup
	$(SWIFT) build
	Scripts/run-tests --build

## release: builds the programs for installation, in .build/release
release:
	Scripts/setup
	for program in $(PROGRAMS); do $(SWIFT) build $(RELEASE_FLAGS) --product $$program || exit 1; done

## everything: builds what `release` builds, and the release programs that test and measure it
everything: | $(if $(STRICT),resolved)
	$(call stage,build of everything)
	Scripts/setup
	$(LATER) $(SWIFT) build $(RELEASE_FLAGS)

## faults: runs the fault table on the real binaries; TIER=brief, quick, full or long, ROWS="..." for some rows, SEED=n
faults: everything
	Scripts/setup faults
	Tests/Faults/faults --tier $(TIER) --seed $(SEED) $(if $(ROWS),--row $(ROWS))

# B24 builds everything once more from nothing, so it comes last.
## bench: runs the benchmarks, prints a table with their limits, draws the pictures of B10; ONLY="B1 B3" for some
bench: everything
	Scripts/setup bench
	rm -rf results/growth
	$(if $(filter-out B24,$(or $(ONLY),all)),$(RELEASE)/baton-benchmarks $(filter-out B24,$(ONLY)) --points results/growth)
	$(if $(filter-out B24,$(or $(ONLY),all)),Scripts/growth results/growth results/growth.svg)
	$(if $(filter B24,$(or $(ONLY),B24)),Scripts/time-demo)

## bench-postgres: runs B13 to B20 beside a PostgreSQL server of its own, which syncs; ONLY="B13 B16" for some
bench-postgres: everything
	Scripts/setup postgres
	Scripts/with-postgres --fsync $(RELEASE)/baton-benchmarks $(if $(ONLY),$(ONLY),B13 B14 B15 B16 B17 B18 B19 B20)

# Each of the other systems installs its packages itself, so that the others go on if one cannot be installed.
## bench-peers: measures Baton and other job systems on this machine: table and picture; ONLY="baton celery" for some
bench-peers: everything
	Scripts/setup peers
	Benchmarks/peers/check
	Benchmarks/peers/run --picture results/peers.svg $(ONLY)

## bench-small: runs B1, B3 and B4 briefly on release binaries; the figures are printed and not checked
bench-small: everything | $(call after,console)
	$(call stage,bench-small)
	$(RELEASE)/baton-benchmarks --small B1 B3 B4

## simulate: runs both cores and the real SQL in SEEDS=n simulated fleets; SEED=n is the first seed
simulate: everything
	Tests/BatonSimulationTests/same-in-two-processes $(RELEASE)/baton-simulate 160
	$(RELEASE)/baton-simulate $(SEEDS) $(SEED)

## plants: builds a copy with planted bugs, and runs each until the simulation finds it, with up to SEEDS=n seeds
plants:
	Scripts/plant $(PLANTED)/tree
	$(SWIFT) build $(RELEASE_FLAGS) --package-path $(PLANTED)/tree --scratch-path $(PLANTED) --product baton-simulate
	Scripts/plants $(PLANTED)/release/baton-simulate $(SEEDS)

## plants-in-tests: builds the tests of a copy with planted bugs, and runs for each bug the test that has to find it
plants-in-tests:
	Scripts/plant $(PLANTED)/tree
	Scripts/run-tests --build --package-path $(PLANTED)/tree --scratch-path $(PLANTED)
	Scripts/plants-in-tests $(PLANTED)/debug/batonPackageTests.xctest

## fault-plants: plants a bug for each row of the fault table, and fails if a row does not catch it
fault-plants: everything
	Scripts/setup faults
	Tests/Faults/faults --plants --seed $(SEED)

## proto: regenerates the protobuf code after a change of baton.proto (needs protoc)
proto:
	$(SWIFT) build --scratch-path .build-protoc --product protoc-gen-swift
	$(SWIFT) build --scratch-path .build-protoc --product protoc-gen-grpc-swift-2
	bin=$$($(SWIFT) build --scratch-path .build-protoc --show-bin-path) && cd Sources/BatonProtobuf && \
	protoc --plugin=protoc-gen-swift=$$bin/protoc-gen-swift \
	  --plugin=protoc-gen-grpc-swift-2=$$bin/protoc-gen-grpc-swift-2 \
	  --swift_out=Visibility=Package,UseAccessLevelOnImports=true:Generated \
	  --grpc-swift-2_out=Visibility=Package,UseAccessLevelOnImports=true:Generated baton.proto
	Scripts/generate-access Sources/BatonProtobuf/baton.proto > Sources/BatonProtobuf/Generated/baton.access.swift
