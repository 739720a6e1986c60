# Kawal.  `make help` says what there is; everything a target needs is installed by the target itself.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
export PYTHON
LISTEN ?= 127.0.0.1:9092
DATA ?= ./data
ARGS ?=
UNIT_WORKERS ?= auto
# They wait for servers, groups and JVMs more than they compute.
COMPAT_WORKERS ?= 3

VENV := .venv
BIN := $(VENV)/bin
MVN := mvn --quiet --batch-mode -Dstyle.color=never
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# pip compiles what it installs, but not what it installs as editable; where PYTHONDONTWRITEBYTECODE is set, as images of
# containers do, every start would compile 300 files anew, which takes longer than all else that it does.
COMPILE := $(BIN)/python -m compileall -q broker console groups kawal pipeline protocol views wal

# A stamp is newer than what its target was made from; nothing is installed or fetched twice.
RUNTIME := $(VENV)/.installed
DEVELOP := $(VENV)/.installed-for-development
FOR_DEMO := $(VENV)/.installed-for-demo
SPARK_JARS := .jars/.fetched
KAFKA_JARS := .cache/kafka/.fetched
SAFE_STORE := .cache/versitygw/versitygw
UNSAFE_STORE := .cache/s3proxy/.fetched
# Spark starts in half the processor time with the archive of its classes that `kawal pipe warm` makes.
WARM := .cache/kawal/.warm
WITH_WARM := XDG_CACHE_HOME=$(CURDIR)/.cache

.PHONY: help dist lowest clients vendored screenshots run test check demo bench reliability differential test-on-kafka format format-check lint types imports unit compat jars clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  ARGS='…' goes to the command behind run, demo, bench, unit, compat and test-on-kafka"

run: $(RUNTIME) ## Serve Kafka clients on 127.0.0.1:9092 with data in ./data (LISTEN=, DATA=)
	@exec $(BIN)/kawal serve --listen $(LISTEN) --data $(DATA) $(ARGS)

test: ## Run every check and test: check, then real clients and Spark against the gateway
	@# All at once and before all else: two installations by apt-get at the same time would shut each other out.
	@.ci/need venv java mvn kcat go npm node_api.h cargo gcc g++ pkg-config zstd.h ssl.h chromium
	@$(MAKE) --jobs=3 $(DEVELOP) $(SPARK_JARS) $(KAFKA_JARS) $(SAFE_STORE) $(UNSAFE_STORE) clients
	@$(MAKE) check
	@$(MAKE) compat

check: format-check lint types imports unit ## Run the quick part of test: style, types, layers, unit tests

demo: $(FOR_DEMO) $(SPARK_JARS) ## Land a year of flights with Spark, killed half way, derive, audit, and draw demo.png
	@exec $(BIN)/kawal pipe demo --plot demo.png $(ARGS)

bench: $(DEVELOP) $(KAFKA_JARS) ## Measure Kawal and Apache Kafka side by side
	@.ci/need java gcc
	@exec $(BIN)/python -m benchmarks $(ARGS)

reliability: $(DEVELOP) ## Break a gateway under stock clients (ARGS='kill --dose 60 --seed 7'; --help lists the rigs)
	@exec $(BIN)/python -m reliability $(ARGS)

differential: $(DEVELOP) $(KAFKA_JARS) ## Send the same random requests to the gateway and to Kafka, live (ARGS='--seed 7 --nodes 2')
	@.ci/need java
	@exec $(BIN)/python -m compat_tests.differential $(ARGS)

test-on-kafka: $(DEVELOP) $(SPARK_JARS) $(KAFKA_JARS) clients ## Run the compat tests against Apache Kafka 4.3.1
	@.ci/need java kcat
	KAWAL_COMPAT_BROKER=kafka $(BIN)/pytest compat_tests $(ARGS)

format: $(DEVELOP) ## Format the code and mend what can be mended
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

format-check: $(DEVELOP)
	$(BIN)/ruff format --check

lint: $(DEVELOP)
	$(BIN)/ruff check

types: $(DEVELOP)
	$(BIN)/mypy

imports: $(DEVELOP)
	$(BIN)/lint-imports --no-cache
	$(BIN)/lint-imports --no-cache --config .importlinter-types

unit: $(DEVELOP) ## Run the unit tests (ARGS='tests/wal -k roll')
	$(BIN)/pytest --numprocesses=$(UNIT_WORKERS) --dist=worksteal --durations=40 --durations-min=5 $(ARGS)

compat: $(DEVELOP) $(SPARK_JARS) $(KAFKA_JARS) $(SAFE_STORE) $(UNSAFE_STORE) $(WARM) clients ## Run the compat tests against the gateway
	@.ci/need java kcat chromium
	$(WITH_WARM) $(BIN)/pytest compat_tests --numprocesses=$(COMPAT_WORKERS) --dist=loadfile --second-attempt --durations=60 --durations-min=15 $(ARGS)

clients: ## Build the client programs of the compat tests (Go, Java, Node, Rust)
	@$(MAKE) --directory compat_tests/clients

vendored: $(DEVELOP) ## Fetch the files of others in the web console again, as console/web/static/vendor/list.json says
	@$(BIN)/python -m compat_tests.vendored

screenshots: $(DEVELOP) ## Take the pictures of docs/console.md again, from sample data
	@.ci/need chromium
	@$(BIN)/python -m compat_tests.screenshots

jars: $(SPARK_JARS) ## Fetch Spark's Kafka connector from Maven Central

dist: $(DEVELOP) ## Build wheels and sdists of Kawal and of the test plugin into dist/, and check them
	@$(BIN)/python -m compat_tests.distributions dist

lowest: $(DEVELOP) ## Install the lowest versions of what Kawal requires into a fresh environment, and try them
	@$(BIN)/python -m compat_tests.lowest

clean: ## Remove what make installed and fetched; data is kept
	rm -rf $(VENV) .jars .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@.ci/need venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$$($(PYTHON) --version) is too old: Kawal needs 3.11 or later; name one with make PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@# Dependency groups came with pip 25.1.
	@$(PIP) install --upgrade 'pip>=25.1'

$(RUNTIME): pyproject.toml | $(VENV)/bin/python
	@echo "installing Kawal into $(VENV)"
	@$(PIP) install --editable .
	@$(COMPILE)
	@touch $@

$(DEVELOP): pyproject.toml kawal_pytest/pyproject.toml | $(VENV)/bin/python
	@echo "installing Kawal and its development tools into $(VENV) (pyspark takes a minute)"
	@$(PIP) install --editable '.[spark]' --editable ./kawal_pytest --group bench --group lint --group test
	@$(COMPILE)
	@touch $(RUNTIME) $@

$(FOR_DEMO): pyproject.toml | $(VENV)/bin/python
	@echo "installing Kawal and its demo into $(VENV) (pyspark takes a minute)"
	@$(PIP) install --editable '.[demo]'
	@$(COMPILE)
	@touch $(RUNTIME) $@

$(SPARK_JARS): pipeline/pom.xml
	@.ci/need java mvn
	@rm -rf $(@D)
	@echo "fetching Spark's Kafka connector into $(@D)"
	@$(MVN) --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

$(KAFKA_JARS): compat_tests/kafka-pom.xml
	@.ci/need java mvn
	@rm -rf $(@D)
	@echo "fetching Apache Kafka into $(@D)"
	@$(MVN) --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

$(WARM): $(DEVELOP) $(SPARK_JARS)
	@.ci/need java
	@rm -rf $(@D)
	@echo "making the archive of Spark's classes in $(@D)"
	@$(WITH_WARM) $(BIN)/kawal pipe warm >/dev/null
	@touch $@

$(SAFE_STORE): compat_tests/versitygw/go.mod compat_tests/versitygw/go.sum
	@.ci/need go
	@echo "building versitygw, an object store (it takes some minutes)"
	@mkdir -p $(@D)
	@cd compat_tests/versitygw && go build -o $(CURDIR)/$@ github.com/versity/versitygw/cmd/versitygw

$(UNSAFE_STORE): compat_tests/s3proxy-pom.xml
	@.ci/need java mvn
	@rm -rf $(@D)
	@echo "fetching S3Proxy, which must be refused, into $(@D)"
	@$(MVN) --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@
