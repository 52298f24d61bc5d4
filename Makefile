# The commands of the house. `make demo` and `make test` need Python 3.11 or newer and nothing else;
# what more they need, they install.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
PIP := $(BIN)/pip --disable-pip-version-check --quiet install --constraint constraints.txt

.PHONY: demo test lint types contracts checks unit production browser test-cluster drills lighthouse bench clean

demo: $(RUN)
	@exec $(BIN)/python manage.py demo --port $(PORT)

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Evenshare needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make demo PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing what Evenshare needs into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing what the tests need into $(VENV) ..."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(RUN)

test: $(DEV)
	@$(BIN)/python tests/services.py
	@$(MAKE) --no-print-directory lint contracts types checks audit unit production browser test-cluster

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djlint --check --lint --quiet templates

contracts: $(DEV)
	$(BIN)/lint-imports

types: $(DEV)
	$(BIN)/mypy .

checks: $(DEV)
	EVENSHARE_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(60))') \
	  EVENSHARE_HOSTS=gpu.example.org EVENSHARE_BROKER=redis://127.0.0.1:6379/0 \
	  $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

# Our code and what we depend on; says so where the index it asks cannot be reached.
audit: $(DEV)
	$(BIN)/python tests/audit.py

unit: $(DEV)
	$(BIN)/pytest -q -n 2 -m 'not browser and not cluster and not services and not drill'

# The rooms, the flows and the races on PostgreSQL, with workers and beat on Redis.
production: $(DEV)
	$(BIN)/python tests/with_services.py $(BIN)/pytest -q -n 2 -m 'not drill' \
	  tests/portal tests/flows tests/races tests/drills tests/deploy/test_live_index.py

browser: $(DEV)
	$(BIN)/pytest -q -n 2 --dist loadfile -m 'browser and not drill' tests/browser

# Against a real API server: KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, or
# KUBECONFIG_TEST a cluster to throw away. Without either it says what it skipped, by name.
test-cluster: $(DEV)
	$(BIN)/pytest -q -rs -m cluster tests/cluster

# Long: every race forty times, a worker killed at thirty random points and after each of its writes.
drills: $(DEV)
	RACES=40 INTERLEAVINGS=500 KILLS=30 DRILLS=long $(BIN)/python tests/with_services.py $(BIN)/pytest -q -n 2 tests/races tests/drills tests/portal/kubernetes/test_watching_exactly.py

# Every page's accessibility by the npm package lighthouse, at a version that was tried.
lighthouse: $(DEV) $(VENV)/lighthouse
	LIGHTHOUSE=$(CURDIR)/$(VENV)/lighthouse/node_modules/.bin/lighthouse \
	  $(BIN)/pytest -q -m browser tests/browser/test_lighthouse.py

$(VENV)/lighthouse: | $(BIN)/pip
	@npm install --prefix $@ --no-fund --no-audit --loglevel error lighthouse@13.5.0

bench: $(DEV)
	$(BIN)/python -m tests.benchmarks
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.portal_cycle
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.portal_pages
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.portal_size
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.bill
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.portal_sync
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.watching

# Two hundred people reading and twenty writing for five minutes, with ticks going on.
load: $(DEV)
	$(BIN)/python tests/with_services.py $(BIN)/python -m tests.benchmarks.load

clean:
	rm -rf $(VENV) var build *.egg-info
