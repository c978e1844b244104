# Every target sets up what it needs; the first run takes a minute, the next none.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto --dist loadfile --no-loadscope-reorder
UPGRADE ?=

BIN := .venv/bin
PAGE := src/thinkaloud/server/static/index.html
PIP_INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run page test lint format core bench behaviour lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.ready $(if $(shell command -v npm),page) ## start the gateway and its page, with no key (PORT=8321, HOST=127.0.0.1)
	$(BIN)/thinkaloud serve $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST))

page: $(PAGE) ## build the element and the chat page, with Node.js

# The tests start many programs: whatever the shell says, these are compiled only once.
test: export PYTHONDONTWRITEBYTECODE :=
test: lint page .chromium ## lint, then run all tests with the coverage of the core
	cd web && npm test --silent
	$(BIN)/pytest --cov --cov-report=term --hypothesis-profile=ci $(PYTEST_ARGS)

lint: .venv/.ready web/node_modules/.ready ## check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd web && npm run --silent check

format: .venv/.ready web/node_modules/.ready ## put style in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cd web && npm run --silent format

core: .venv/.ready ## write the parts of web/src/core that repeat what Python defines
	$(BIN)/python -m tests.web.generate_core

bench: .venv-bench/.ready $(if $(shell command -v npm),page benchmarks/web/dist/.ready) ## measure speed, beside peers
	.venv-bench/bin/python -m benchmarks

behaviour: .venv/.ready ## fill in which tests prove which line of docs/behaviour.md
	$(BIN)/python -m tests.behaviour --write

lock: .venv-lock/.ready ## pin all dependencies with hashes (UPGRADE=--upgrade takes the newest)
	for group in dev bench; do \
	  .venv-lock/bin/uv pip compile pyproject.toml --quiet --group $$group --extra server --extra telemetry --extra agents --output-file requirements/$$group.lock \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command "make lock" $(UPGRADE) || exit 1; \
	done

clean: ## remove all that these targets made
	rm -rf .venv .venv-bench .venv-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf build dist .coverage .coverage.* .chromium web/node_modules web/dist benchmarks/web/node_modules benchmarks/web/dist web/custom-elements.json $(dir $(PAGE))
	find . -name __pycache__ -prune -exec rm -rf {} +

# An environment holds exactly what its lock names, then the package itself in place.
.venv/.locked: requirements/dev.lock
.venv-bench/.locked: requirements/bench.lock
.venv/.locked .venv-bench/.locked:
	@$(call need_python)
	$(PYTHON) -m venv --clear $(@D)
	$(PIP_INSTALL) --require-hashes -r $<
	@touch $@

.venv/.ready .venv-bench/.ready: %/.ready: %/.locked pyproject.toml
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

web/node_modules/.ready: web/package-lock.json web/package.json
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): web/node_modules/.ready $(shell find web/src web/page web/scripts -type f)
	cd web && npm run --silent build
	@touch $@

benchmarks/web/dist/.ready: $(wildcard benchmarks/web/src/*) benchmarks/web/package-lock.json
	cd benchmarks/web && npm ci --silent --no-audit --no-fund && npm run --silent build
	@touch $@

# The browser of the system, for the tests of the element and of the page.
.chromium:
	@command -v chromium-headless-shell > /dev/null || command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium-headless-shell > /dev/null; } || { \
	  echo "The tests need a Chromium, and it could not be installed. Install chromium or chromium-headless-shell, then try again." >&2; \
	  exit 1; }
	@touch $@

.venv-lock/.ready:
	@$(call need_python)
	$(PYTHON) -m venv --clear $(@D)
	$(PIP_INSTALL) uv
	@touch $@

define need_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "Thinkaloud needs Python 3.11 or newer, and $(PYTHON) is not. Name another: make PYTHON=python3.12 ..." >&2; \
  exit 1; }
endef
