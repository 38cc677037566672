# `make` alone lists what can be asked for. Each target installs into .venv first when that is missing or stale.
.POSIX:

# The Python that builds .venv: 3.11 or newer. Empty: the first such among python3, python3.13, python3.12, python3.11.
PYTHON =
# Processes that share the tests, one more than a small machine has cores, as many wait for servers: `make test WORKERS=0` runs
# them in one.
WORKERS = 3
# The Apache Kafka that `make kafka` fetches: one from 2.4 to 3.9.
KAFKA = 2.8.2

BIN = .venv/bin
INSTALLED = .venv/installed
# PySpark comes as a source distribution, and is most of the work. Its build back end is in the lock like all else (so no
# isolated build), and the wheel made on the way need not be compressed: together with uv, 10 seconds instead of 40.
SYNC = --require-hashes --no-build-isolation
# Tests start hundreds of Python processes: without bytecode files each of them would compile all modules anew.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

help:
	@awk -F ' *## ' '/^[a-z-]+:.*## / { sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## install everything into .venv, versions and hashes as in requirements.lock

demo: $(INSTALLED) ## watch a controller be elected on a real ZooKeeper, freeze, be replaced, and be refused
	@$(BIN)/kcsim run controller-failover

test: $(INSTALLED) ## run the fast tests, in about seven minutes: what one change can break
	@$(PYTEST) -m "not slow and not nightly"

test-all: $(INSTALLED) ## run the slow tests too: every scenario on a real ZooKeeper, Spark, browsers, real Kafka brokers
	@$(PYTEST) -m "not nightly"

test-nightly: $(INSTALLED) ## run everything, for hours: all crash points, thousands of random scenarios, other examples each time
	@$(PYTEST) -m "slow or not slow" --hypothesis-profile=nightly

check: $(INSTALLED) ## lint, formatting, types (strict), and the direction of imports
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(INSTALLED) ## measure: a real ZooKeeper under load, a million partitions in virtual time (BENCH="failover simulated=100000")
	@$(BIN)/python -m tests.bench $(BENCH)

mutants: $(INSTALLED) ## put small faults into the code and list those that no test notices (MUTANTS="zk/kafka --sample 50")
	@$(BIN)/python -m tests.mutants $(MUTANTS)

spark-demo: $(INSTALLED) ## make up 10 million events on Spark, replay and analyse them, and write a page on them
	@$(BIN)/python -m tests.bench.spark_demo

docs: $(INSTALLED) ## write the reference pages in docs/reference anew from the code
	@$(BIN)/python -m tests.documents

kafka: .kafka/$(KAFKA)/fetched ## fetch the jars of Apache Kafka with Maven, to run real brokers (KAFKA=3.9.1: of another version)

hadoop: .hadoop/fetched ## fetch the jars of Apache Hadoop with Maven, for tests on HDFS and of Spark on object storage

axe: tests/accessibility/node_modules/.package-lock.json ## fetch axe-core with npm, for tests of the pages' accessibility

lock: $(INSTALLED) ## remake requirements.lock from pyproject.toml (UPGRADE=--upgrade: newest versions)
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --system-certs pyproject.toml --extra dev --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links $(UPGRADE) --output-file requirements.lock

clean: ## remove .venv, caches and built archives (what `make kafka` and `make hadoop` have fetched stays: rm -r .kafka .hadoop tests/accessibility/node_modules)
	rm -rf .venv build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && break; \
	    python=; \
	  done; \
	  [ -n "$$python" ] || { echo "make: no Python 3.11 or newer (with venv) found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	  "$$python" -m venv --clear .venv; \
	}
	@echo "Installing into .venv; the first time this downloads some 600 MB."
	@sed -n -e '/^setuptools==/,/[^\\]$$/p' -e '/^uv==/,/[^\\]$$/p' requirements.lock >.venv/installers.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/installers.lock
	@$(BIN)/uv pip sync --system-certs --python $(BIN)/python $(SYNC) \
	  --config-settings-package pyspark:--build-option=--compression=stored requirements.lock || { \
	  echo "uv could not install; pip may know this machine's mirrors and certificates better:" >&2; \
	  $(BIN)/python -m pip install --disable-pip-version-check --use-pep517 $(SYNC) -r requirements.lock; \
	}
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(INSTALLED)

.kafka/$(KAFKA)/fetched: brokers/apache_kafka/pom.xml
	@command -v mvn >/dev/null || { \
	  echo "make: Apache Maven (mvn) is needed to fetch Apache Kafka; or unpack a download of Kafka and set KAFKA_HOME" >&2; exit 1; }
	@command -v java >/dev/null || [ -x "$${JAVA_HOME:+$$JAVA_HOME/bin/java}" ] || { \
	  echo "make: Apache Maven needs a Java: install one, or set JAVA_HOME" >&2; exit 1; }
	@echo "Fetching Apache Kafka $(KAFKA) into .kafka/$(KAFKA), some 40 MB."
	@rm -rf .kafka/$(KAFKA)
	@mvn --quiet --batch-mode -Dstyle.color=never --file brokers/apache_kafka/pom.xml -Dkafka=$(KAFKA) \
	  dependency:copy-dependencies -DoutputDirectory="$$PWD/.kafka/$(KAFKA)/libs" || { \
	  echo "make: Maven could not fetch Apache Kafka $(KAFKA)" >&2; exit 1; }
	@touch $@

.hadoop/fetched: tests/scenarios/analysis/remote/pom.xml
	@command -v mvn >/dev/null || { echo "make: Apache Maven (mvn) is needed to fetch Apache Hadoop" >&2; exit 1; }
	@echo "Fetching parts of Apache Hadoop into .hadoop, some 80 MB."
	@rm -rf .hadoop
	@mvn --quiet --batch-mode -Dstyle.color=never --file tests/scenarios/analysis/remote/pom.xml \
	  dependency:copy-dependencies -DoutputDirectory="$$PWD/.hadoop" || { \
	  echo "make: Maven could not fetch Apache Hadoop" >&2; exit 1; }
	@touch $@

tests/accessibility/node_modules/.package-lock.json: tests/accessibility/package-lock.json
	@command -v npm >/dev/null || { echo "make: npm is needed to fetch axe-core" >&2; exit 1; }
	@npm ci --prefix tests/accessibility --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.PHONY: help setup demo test test-all test-nightly check bench mutants spark-demo docs kafka hadoop axe lock clean
