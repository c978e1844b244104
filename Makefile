# Every target installs and builds what it needs. The first run takes a while, the next ones do not.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto --dist loadfile --no-loadscope-reorder
# These tests wait for nothing, so more workers than processors would only import them once more.
CHECK_ARGS ?= -n $(shell getconf _NPROCESSORS_ONLN)
UPGRADE ?=
FAULTS ?=
export PYTHON

BIN := .venv/bin
PAGE := src/thinkaloud/gateway/server/static/index.html
ELEMENT := web/dist/.built
NODE_CLIENTS := tests/clients/node/node_modules/.all
NPM := $(shell command -v npm)
NPM_CI = npm ci --silent --no-audit --no-fund

# The tests of the pure packages, and those that hold the project to its own rules.
CORE := $(addprefix tests/,catalog context dialects export requests tags transcript view wire)
CORE_CACHE := .pytest_cache/core
RULES := tests/languages $(patsubst %,tests/test_%.py,behaviour contracts project reference shape stories)

.DEFAULT_GOAL := help
.PHONY: help run page element check test test-all fuzz faults journeys browsers integrations clients lint format core languages manual docs bench behaviour lock release clean
.PHONY: .check-core .compile-tests .core-tests .lint-python .lint-web .other-pythons .other-tests .second-run .test-element

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the gateway and its page, with no key (PORT=8321, HOST=127.0.0.1)
	@$(MAKE) --no-print-directory --jobs 2 .venv/.run $(if $(NPM),page)
	@$(BIN)/thinkaloud serve $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST))

page: $(PAGE) ## build the chat page, with Node.js

element: $(ELEMENT) ## build the <thinking-block> element, its types and its manifest, with Node.js

check: .venv/.dev ## lint Python, and run the tests of the pure packages and of the project's rules; takes a minute or two
	@$(MAKE) --no-print-directory --jobs 2 --old-file=.venv/.dev .lint-python .check-core

.check-core: .venv/.dev
	$(BIN)/pytest --quiet --hypothesis-profile=quick $(CHECK_ARGS) $(RULES) $(CORE)

# The tests start many programs: whatever the shell says, these are compiled only once.
test: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.dev element page .chromium .terminal .postgres $(NODE_CLIENTS) ## lint, then run all tests with the coverage of the core, and some on every other Python
	@$(MAKE) --no-print-directory --jobs 2 .lint-python .compile-tests .lint-web .test-element
	@$(MAKE) --no-print-directory --jobs 3 .other-tests .core-tests .other-pythons
	@$(MAKE) --no-print-directory .second-run

# pytest ends with 1 if tests failed: `.second-run` judges those.
.other-tests:
	$(BIN)/pytest --hypothesis-profile=ci $(PYTEST_ARGS) $(addprefix --ignore=,$(CORE)) || [ $$? -eq 1 ]

# The coverage of the core is counted here only: to count lines takes as long again as the tests, in all threads of a process.
# They only compute, and fill the time in which the other tests wait.
.core-tests:
	@{ { $(BIN)/pytest --quiet --cov --cov-report= --hypothesis-profile=ci --override-ini=cache_dir=$(CORE_CACHE) $(CORE) || [ $$? -eq 1 ]; } && \
	  $(BIN)/coverage report; } > .core-tests.log 2>&1 || { cat .core-tests.log >&2; exit 1; }
	@grep -E '^TOTAL|^[0-9]+ .*(passed|failed)' .core-tests.log

.other-pythons:
	@$(BIN)/python scripts/pythons.py $(CORE)

# What failed beside other tests runs once more, alone.
.second-run:
	@for cache in .pytest_cache $(CORE_CACHE); do if grep -qs : $$cache/v/cache/lastfailed; then \
	  echo "Tests that failed beside others run once more, alone." >&2; \
	  $(BIN)/python -m pytest -p tests.second_run --hypothesis-profile=ci --override-ini=cache_dir=$$cache --last-failed --last-failed-no-failures none || failed=1; \
	fi; done; [ -z "$$failed" ]

# pytest rewrites the asserts of a test file when it first imports it, and keeps the result: here once, not in each worker.
# A failure of an earlier run whose test has another name by now would make the second run one of all tests.
.compile-tests: .venv/.dev
	@rm -f .pytest_cache/v/cache/lastfailed $(CORE_CACHE)/v/cache/lastfailed
	@$(BIN)/pytest --collect-only --quiet -p no:xdist $(addprefix --ignore=,$(CORE)) > .collected-tests || { tail -n 50 .collected-tests >&2; exit 1; }

test-all: export ALL_CASES = 1
test-all: export JOURNEYS = 20
test-all: ## run all tests as `make test` does, with every case where that takes a sample
	@$(MAKE) --no-print-directory test

fuzz: .venv/.dev ## damage fields and bytes of all recordings, for minutes, and report text that is lost
	$(BIN)/python -m tests.dialects.damage

faults: .venv/.dev .postgres ## kill, stop and starve a gateway for minutes, and report what is lost (FAULTS='--storm 100')
	$(BIN)/python -m tests.faults $(FAULTS)

journeys: .venv/.dev ## hold 20 conversations of 40 turns that change the model every time, against all simulators
	JOURNEYS=20 $(BIN)/pytest -q tests/journeys/test_model_changes.py

clients: .venv/.dev .venv-clients/.clients .venv-aider/.aider tests/clients/programs/node_modules/.all ## drive Claude Code, Codex and others through the gateway; installs 2 GB of them
	$(BIN)/pytest -q -p no:cacheprovider tests/clients/drive_programs.py

browsers: .venv/.dev element ## test the element in the distribution's Firefox (apt-get install firefox-esr)
	BROWSERS=1 $(BIN)/pytest -q tests/browsers

integrations: .venv/.dev element .chromium web/integrations/node_modules/.all ## run all that other programs get of us inside the real ones, at their newest versions; installs 8 GB of packages
	$(BIN)/pytest -q -n 2 -p no:cacheprovider tests/integrations/drive_frameworks.py
	$(BIN)/pytest -q -p no:cacheprovider $(filter-out %/drive_frameworks.py,$(wildcard tests/integrations/drive_*.py))

lint: .lint-python .lint-web ## check style, types and the direction of imports

.lint-python: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.lint-web: web/node_modules/.all
	cd web && npm run --silent check

.test-element: web/node_modules/.all element
	cd web && npm test --silent

format: .venv/.dev web/node_modules/.all ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cd web && npm run --silent format

core: .venv/.dev ## write the parts of web that repeat what Python defines or reads
	$(BIN)/python -m tests.web.generate_core
	$(BIN)/python -m tests.web.generate_vectors

languages: .venv/.dev ## add new texts of the source to the catalogs of the languages, and remove those that are gone
	$(BIN)/python -m tests.languages.extract

manual: .venv/.dev ## write the manual page from the parser
	$(BIN)/python scripts/manual.py

bench: .venv-bench/.bench $(if $(NPM),element page benchmarks/web/dist/.ready) ## measure speed, beside peers
	.venv-bench/bin/python -m benchmarks

docs: .venv/.dev ## build the documentation site in build/site, and check its links
	$(BIN)/python scripts/docs.py

behaviour: .venv/.dev ## fill in which tests prove which line of docs/behaviour.md
	$(BIN)/python -m tests.behaviour --write

release: ## build both packages in dist/ and check them
	@scripts/release

# The larger locks are constrained by the one for running, so that each package has one version everywhere.
lock: ## pin all dependencies with hashes (UPGRADE=--upgrade takes the newest)
	$(call pin,install,--group install)
	$(call pin,run,pyproject.toml --group build --extra server --extra agents --extra tui)
	$(call pin,dev,pyproject.toml --group dev --extra server --extra agents --extra tui --extra flutter --extra postgres --extra telemetry --extra notebook --constraint requirements/run.lock)
	$(call pin,test,pyproject.toml --group build --group test --extra server --extra tui --constraint requirements/dev.lock)
	$(call pin,bench,pyproject.toml --group bench --extra server --extra agents --extra tui --extra postgres --extra telemetry --constraint requirements/run.lock)
	$(call pin,clients,--group clients)
	$(call pin,aider,--group aider)

clean: ## remove all that these targets made
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf build dist .coverage .coverage.* .collected-tests .core-tests.log .chromium .terminal .postgres web/node_modules web/dist tests/clients/node/node_modules tests/clients/programs/node_modules web/integrations/node_modules benchmarks/web/node_modules benchmarks/web/dist web/custom-elements.json $(dir $(PAGE)) src/thinkaloud/integrations/static
	find . -name __pycache__ -prune -exec rm -rf {} +

# One environment serves for running first and for development later: what it holds, a file in it tells.
.venv/.run: requirements/run.lock pyproject.toml
.venv/.dev: requirements/dev.lock pyproject.toml
.venv-bench/.bench: requirements/bench.lock pyproject.toml
.venv/.run .venv/.dev .venv-bench/.bench:
	@scripts/install $(@D) $(@F:.%=%)

# The page needs a quarter of the packages in web/; `.all` is there once all of them are.
web/node_modules/.page: web/package-lock.json web/package.json web/page/package.json
	@echo "Installing the packages of the page" >&2
	@$(if $(wildcard web/node_modules/.all),$(MAKE) --no-print-directory web/node_modules/.all,cd web && $(NPM_CI) --workspace page)
	@touch $@

web/node_modules/.all: web/package-lock.json web/package.json web/page/package.json
	cd web && $(NPM_CI)
	@touch web/node_modules/.page $@

$(PAGE): web/node_modules/.page $(shell find web/src web/page -type f)
	@cd web && npm run --silent page
	@touch $@

$(ELEMENT): web/node_modules/.all $(shell find web/src web/scripts -type f)
	cd web && npm run --silent build
	@touch $@

benchmarks/web/dist/.ready: $(wildcard benchmarks/web/src/*) benchmarks/web/package-lock.json
	cd benchmarks/web && $(NPM_CI) && npm run --silent build
	@touch $@

# Front ends and SDKs for Node.js, with which the tests ask the gateway.
# `npm ci` demands that the lock holds the packages of every platform; these two hold those that were published.
tests/clients/programs/node_modules/.all: tests/clients/programs/package-lock.json
web/integrations/node_modules/.all: web/integrations/package-lock.json
tests/clients/programs/node_modules/.all web/integrations/node_modules/.all:
	cd $(@D:/node_modules=) && npm install --silent --no-save --no-audit --no-fund
	@touch $@

.venv-clients/.clients: requirements/clients.lock
.venv-aider/.aider: requirements/aider.lock
.venv-clients/.clients .venv-aider/.aider:
	$$(scripts/uv) venv --quiet --allow-existing --python $(PYTHON) $(@D)
	$$(scripts/uv) pip sync --quiet --python $(@D)/bin/python --require-hashes requirements/$(@F:.%=%).lock
	@touch $@

$(NODE_CLIENTS): tests/clients/node/package-lock.json
	cd tests/clients/node && $(NPM_CI)
	@touch $@

# The database server of the system: the tests start one of their own, as a user other than root.
.postgres:
	@{ ls /usr/lib/postgresql/*/bin/initdb || command -v initdb; } > /dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq postgresql > /dev/null; } || { \
	  echo "The tests need PostgreSQL 14 or newer, and it could not be installed. Install the package postgresql, then try again." >&2; \
	  exit 1; }
	@command -v pgbouncer > /dev/null || ls /usr/sbin/pgbouncer > /dev/null 2>&1 || apt-get install -y -qq pgbouncer > /dev/null 2>&1 || \
	  echo "PgBouncer could not be installed: its test is skipped."
	@touch $@

# The browser of the system, for the tests of the element and of the page.
.chromium:
	@command -v chromium-headless-shell > /dev/null || command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium-headless-shell > /dev/null; } || { \
	  echo "The tests need a Chromium, and it could not be installed. Install chromium or chromium-headless-shell, then try again." >&2; \
	  exit 1; }
	@touch $@

# A terminal that tests can type in and read, the shells that complete commands, and what shows the manual page.
.terminal:
	@{ command -v tmux && command -v zsh && command -v fish && command -v man; } > /dev/null \
	  || { apt-get update -qq && apt-get install -y -qq tmux zsh fish man-db > /dev/null; } || { \
	  echo "The tests need tmux, zsh, fish and man, which could not be installed. Install them, then try again." >&2; \
	  exit 1; }
	@touch $@

define pin
$$(scripts/uv) pip compile --quiet $(2) --output-file requirements/$(1).lock \
  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command "make lock" $(UPGRADE)
endef
