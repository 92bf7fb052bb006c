# Short commands, the same for a person and for CI. Each does all of its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PEERS := $(VENV)/.peers
MODELS := $(VENV)/.models
TRIED := $(VENV)/.browser
CODE := src tests benchmarks examples

.PHONY: help demo test test-all browser check bench bench-quick docs pictures notebooks screenshots lock clean

help:            ## This list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/' | expand -t 16

demo: $(INSTALLED) ## Three learners on data of real people: a table and a picture
	@$(BIN)/likewise demo

test: $(INSTALLED) browser ## The tests that run on every change; those left out are listed at the end
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -rfEs

browser: ## Install Chromium and strace for the tests that need them, if possible
	@command -v chromium-headless-shell >/dev/null && command -v strace >/dev/null || [ -e $(TRIED) ] || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium and strace …"; \
			apt-get -qq update && for chromium in chromium-headless-shell chromium; do \
				DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
					$$chromium fonts-dejavu-core strace >/dev/null 2>&1 && break; \
			done && mkdir -p $(VENV) && touch $(TRIED); \
		fi; } || true
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || echo "No Chromium: the tests of the pages in a browser are left out."
	@command -v strace >/dev/null || echo "No strace: the test that sees the log synced before the answer is left out."

test-all: $(MODELS) browser ## All tests, also the slow ones and those with models of other libraries
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -rfEs -m ''

check: $(INSTALLED) ## Format, lint, types, direction of imports
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@tail -n 1 $(VENV)/imports.txt

bench: $(PEERS) ## Measure speed beside other libraries, about ten minutes; writes docs/benchmarks.md
	@$(BIN)/python benchmarks/run.py

bench-quick: $(PEERS) ## The same table in about a minute, from smaller work
	@$(BIN)/python benchmarks/run.py --quick

docs: $(INSTALLED) ## Build the documentation into site/; a warning is an error
	@$(BIN)/zensical build --clean --strict --config-file mkdocs.yml

pictures: $(INSTALLED) ## Draw the pictures of the documentation again
	@$(BIN)/python docs/images/draw.py

notebooks: $(INSTALLED) ## Run the notebooks of the documentation and write down what they show
	@$(BIN)/python docs/notebooks/write.py

screenshots: $(INSTALLED) browser ## Take screenshots of the pages for the documentation
	@$(BIN)/python -m pytest -q tests/browser/test_look.py
	@cp tests/browser/artefacts/report-wide-light.png docs/images/review.png
	@cp tests/browser/artefacts/overview-wide-light.png docs/images/overview.png

lock: $(INSTALLED) ## Update requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --universal --all-extras --group dev --generate-hashes \
		--no-header --no-annotate --quiet -o requirements.lock
	@$(BIN)/uv pip compile benchmarks/requirements.in -c requirements.lock --universal --generate-hashes \
		--no-header --no-annotate --quiet -o benchmarks/requirements.lock
	@$(BIN)/uv pip compile --group models-all -c requirements.lock --universal --generate-hashes \
		--no-header --no-annotate --quiet -o tests/models.lock

clean:           ## Remove what the other commands made
	rm -rf $(VENV) demo site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Likewise needs Python 3.11 or later; say make PYTHON=python3.11")'
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=$(VENV) UV_COMPILE_BYTECODE=1 $(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(MODELS): $(INSTALLED) tests/models.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r tests/models.lock
	@touch $@

$(PEERS): $(INSTALLED) benchmarks/requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r benchmarks/requirements.lock
	@touch $@
