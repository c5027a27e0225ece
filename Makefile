# What CI runs is `make check`; the README's two commands are `make demo` and `make test`.
SHELL := /bin/bash
export SWIFT ?= swift
RELEASE := .build/release
# Where the toolchain has it for that (on Linux), the binaries have the Swift runtime within: a host needs nothing of Swift
# then. Nobody looks anything up in them by name, so they export nothing.
RUNTIME = $(shell $(SWIFT)c -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
RELEASE_FLAGS = -c release $(if $(wildcard $(RUNTIME)_static/linux/libswiftCore.a),--static-swift-stdlib \
	-Xlinker --no-export-dynamic)
# Chooses the moments of the faults: the same seed makes the same choices.
SEED ?= 1
# Tests that start real servers and binaries: others in the same process kill every child that they do not know.
APART := EndToEndTests|NUTTests|BusMockTests|NamespaceTests|HostTests|SinkTests
SEEDS ?= 1000
# How much of each row of the fault table: quick, full (a fifth of long), long. ROWS="workers power" for some of them.
TIER ?= quick
ROWS ?=
# STRICT=1: what a machine cannot run has failed, a skipped row of the faults and a test of the contract. CI sets it.
STRICT ?=
export STRICT
# Which promises of the contract were kept by a test that ran: written by the tests, read by Scripts/check-contract.
CONTRACT_LOG := $(CURDIR)/results/contract.log
# A build of its own, which other builds do not mix with.
PLANTED ?= .build/plants

# Everything of ours that swift-format looks at: generated code is taken as the generators write it.
SOURCES = find Package.swift Sources Tests Benchmarks Examples -name '*.swift' -not -path '*/Generated/*' -print0

.DEFAULT_GOAL := help
.PHONY: help demo test interop check lint imports tree checks contract deploy pages format build release faults bench bench-small simulate plants fault-plants proto

## help: says what there is to make
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk '{ i = index($$0, ": "); printf "  make %-11s %s\n", substr($$0, 1, i - 1), substr($$0, i + 2) }'

## demo: a coordinator and two workers here, one killed, then the coordinator; the job succeeds all the same
demo: release
	Scripts/demo

## test: sets the machine up if need be, builds, runs every test, and the faults' quick tier on the real binaries
test: release
	Scripts/setup sink faults
	Scripts/setup-sink
	mkdir -p $(dir $(CONTRACT_LOG)) && rm -f $(CONTRACT_LOG)
	BATON_CONTRACT_LOG=$(CONTRACT_LOG) Scripts/run-tests --skip '$(APART)'
	BATON_CONTRACT_LOG=$(CONTRACT_LOG) Scripts/run-tests --skip-build --filter '$(APART)'
	Scripts/check-contract --ran $(CONTRACT_LOG)
	Tests/Faults/faults --tier quick --seed $(SEED) $(if $(STRICT),--strict)

## interop: the tests against real servers (NUT, D-Bus, namespaces; MLflow, Phoenix, Prometheus), none left out; needs root
interop: release
	Scripts/setup interop deploy sink
	Scripts/setup-sink
	Scripts/interop
	Scripts/interop-telemetry

## check: what CI runs (with STRICT=1): format, imports, the tree, the checks, the contract, tests, pages, some benchmarks
check: lint imports tree checks contract deploy test pages bench-small

## lint: fails if a file is not as `make format` would leave it
lint:
	Scripts/setup
	$(SOURCES) | xargs -0 $(SWIFT) format lint --strict --parallel --configuration .swift-format

## imports: fails if a module imports one that stands below it
imports:
	Scripts/check-imports

## tree: fails if something unfinished, or a path of somebody's home, is in the tree
tree:
	Scripts/check-tree

## deploy: fails if Prometheus would not take the rules, the dashboard or the metrics of Deploy/
deploy:
	Scripts/setup deploy
	Scripts/check-deploy

## checks: breaks what the checks look at, and fails if one of them does not notice
checks:
	Scripts/check-checks

## contract: fails if a promise of the contract has no test, or its page is old (Scripts/check-contract --write)
contract:
	Scripts/check-contract

## pages: runs what the pages show: validates every job file, runs the marked shell blocks (README, tutorial, cookbook)
pages: release
	Scripts/check-pages $(RELEASE)

## format: brings every Swift file into shape
format:
	$(SOURCES) | xargs -0 $(SWIFT) format format --in-place --parallel --configuration .swift-format

## build: builds everything for debugging, tests included
build:
	Scripts/setup
	$(SWIFT) build --build-tests

## release: builds the two binaries as they are to be installed, in .build/release
release:
	Scripts/setup
	$(SWIFT) build $(RELEASE_FLAGS)

## faults: torments the real binaries, a row for each kind of fault; TIER=quick, full or long, ROWS="..." for some, SEED=n
faults: release
	Scripts/setup faults
	Tests/Faults/faults --tier $(TIER) --seed $(SEED) $(if $(ROWS),--row $(ROWS))

## bench: the figures of Benchmarks/ with their limits, a table, and the pictures of B10; ONLY="B1 B3" for some
bench: release
	Scripts/setup bench
	rm -rf results/growth
	$(RELEASE)/baton-benchmarks $(ONLY) --points results/growth
	Scripts/growth results/growth results/growth.svg

## bench-small: a quick look at B1, B3 and B4 on release binaries: printed, never asserted
bench-small: release
	$(RELEASE)/baton-benchmarks --small B1 B3 B4

## simulate: runs both cores and the real SQL in simulated fleets; SEEDS=n of them, SEED=n is the first
simulate: release
	Tests/BatonSimulationTests/same-in-two-processes $(RELEASE)/baton-simulate 160
	$(RELEASE)/baton-simulate $(SEEDS) $(SEED)

## plants: builds with planted bugs, and runs each until the simulation finds it; SEEDS=n for each to be found in
plants:
	BATON_PLANTED_BUGS=1 $(SWIFT) build $(RELEASE_FLAGS) --scratch-path $(PLANTED) --product baton-simulate
	Scripts/plants $(PLANTED)/release/baton-simulate $(SEEDS)

## fault-plants: plants a bug for each row of the fault table, and fails if a row does not catch it
fault-plants: release
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
