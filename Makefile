# make demo     one real session on documents, live (make demo-web: on the web page)
# make test     format, lint, types, import contracts, and the quick tests: less than five minutes on two cores
# make landing  what guards every landing beside `make test`: .ci/run runs both, at most 15 minutes
# make check    all tests but the nightly ones, and the spec map: at most 35 minutes
# make nightly  kills at length, fuzzing, clusters, the small model, research: hours
# The first makes .venv; everything below needs Python 3.11 or later and make, and nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXAMPLE ?= examples/rollout

# Tests start hundreds of processes: none of them compiles what is compiled already, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo demo-web screens test landing check nightly unit slow serial specmap bench chaos fuzz results debates lint format examples api diagrams schemas monitoring lock clean

help:
	@echo "make demo | demo-web | screens | test | landing | check | nightly | specmap | bench | chaos | fuzz | results | debates | lint | format | examples | api | diagrams | schemas | monitoring | lock | clean"

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml research/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Parley needs Python 3.11 or later, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e research
	@touch $@

demo: $(STAMP)
	$(BIN)/parley ask "$$(cat $(EXAMPLE)/question.txt)" --protocol consensus --evidence $(EXAMPLE)/evidence

# The same session on the web page: opens it in the browser, or prints a link. Until Ctrl-C.
demo-web: $(STAMP)
	$(BIN)/parley ask "$$(cat $(EXAMPLE)/question.txt)" --protocol consensus --evidence $(EXAMPLE)/evidence
	$(BIN)/parley serve --open

# The pictures of docs/web.md. Needs chromium.
screens: $(STAMP)
	$(BIN)/python -m tests.web.page.screens docs/web

test: lint unit

check: lint unit slow serial specmap

# Tests that share a busy machine can miss a deadline that they keep alone. Those that failed run once more, one
# at a time, and are named in both runs; the first that fails again is the end.
ONCE_MORE = || { [ $$? = 1 ] && echo "Once more, alone: the tests that failed beside others." >&2 && \
	$(BIN)/python -m pytest -v -n 0 --maxfail 1 --last-failed --last-failed-no-failures none; }

# What does not depend on when things happen runs on three processes. Whole stacks, sessions and graphs come after it, then
# kills, freezes and load: most of their time is waiting, so two run at once, and only what compares speeds runs alone.
unit: $(STAMP)
	$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "not slow and not serial and not nightly" $(ONCE_MORE)

# Only the modules that have such tests are collected: each process looks through all tests that it is given.
LANDING = $(shell { sed -n 's/^landing \([^:]*\).*/\1/p' tests/tiers.txt; grep -rlE 'mark\.landing' tests --include='test_*.py'; } | sort -u)
landing: $(STAMP)
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "landing and not serial" $(LANDING) $(ONCE_MORE)
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "landing and serial" $(LANDING) $(ONCE_MORE)

SLOW = $(shell { grep -rlE 'mark\.slow' tests --include='test_*.py'; sed -nE 's/^(slow|landing) ([^:]*).*/\2/p' tests/tiers.txt; } | sort -u)
slow: $(STAMP)
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "slow and not serial and not nightly" $(SLOW) $(ONCE_MORE)

SERIAL = $(shell grep -rlE 'mark\.(serial|alone)' tests --include='test_*.py')
serial: $(STAMP)
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "serial and not alone and not nightly" $(SERIAL) $(ONCE_MORE)
	@$(BIN)/python -m pytest -q -m "alone and not nightly" $(SERIAL) $(ONCE_MORE)

nightly: $(STAMP) fuzz
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "nightly and not alone" $(ONCE_MORE)
	@$(BIN)/python -m pytest -q -m "nightly and alone" $(ONCE_MORE)

# Every row of docs/spec-map with its symbol stubbed out, of tests that are known to pass; `make landing` sees some.
specmap: $(STAMP)
	$(BIN)/python -m tests.house.specmap --passed

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m parley_research.benchmarks

chaos: $(STAMP)
	$(BIN)/python -m pytest -q -s tests/chaos/test_storm.py tests/chaos/cluster/test_storm.py

# A million random inputs for everything that reads what others wrote: FUZZ="--only yaml --seed 2 --inputs 10000".
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz $(FUZZ)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m hypothesis --hypothesis-profile drawn

# Where the public sets lie.
DATA ?= ../shared/data

# docs/reports/stop-rules.md and docs/reports/learned.md, from recorded debates.
results: $(STAMP)
	$(BIN)/python -m parley_research --data $(DATA)
	$(BIN)/python -m parley_research.learned.report --data $(DATA)

# docs/reports/debates: every method on the test half of the public sets of recorded debates. Less than ten minutes on two cores.
debates: $(STAMP)
	$(BIN)/parley eval debates --data $(DATA) --out .cache/debates
	mkdir -p docs/reports/debates/plots
	cp .cache/debates/report.md .cache/debates/worth.md .cache/debates/manifest.json docs/reports/debates/
	cp .cache/debates/plots/*.svg docs/reports/debates/plots/

# Agents of other frameworks in a seat, each in an environment of its own: fetches the frameworks, and is no part of CI.
examples: $(STAMP)
	$(BIN)/python -m examples.run

api: $(STAMP)
	$(BIN)/python -m docs.generators.api_page docs/api.md
	$(BIN)/python -m docs.generators.options_page docs/options.md
	$(BIN)/python -m docs.generators.commands_page docs/cli.md
	$(BIN)/python -m docs.generators.subjects_page docs/subjects.md
	$(BIN)/python -m docs.generators.metrics_page docs/operations/metrics.md

diagrams: $(STAMP)
	mkdir -p docs/diagrams
	$(BIN)/python -m docs.generators.diagrams docs/diagrams

schemas: $(STAMP)
	$(BIN)/parley schema | $(BIN)/python -m json.tool --no-ensure-ascii --indent 2 > docs/schemas.json

# The rules of Prometheus, the dashboards, and the pages of objectives and runbooks.
monitoring: $(STAMP)
	$(BIN)/python -m deploy.monitoring

# Needs uv. Names no index: whatever the caller's configuration says is used, and the hashes hold.
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" pyproject.toml
lock:
	$(COMPILE) --extra uvloop --extra acp --extra a2a --extra nats-agents --extra documents --extra dev -o requirements.lock >/dev/null
	$(COMPILE) --extra uvloop --extra acp --extra a2a --extra nats-agents --extra documents -o deploy/requirements.lock >/dev/null

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache
