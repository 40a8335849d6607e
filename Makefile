# make demo  - set up, run everything on a built-in support desk whose law is known: demo/report.html
# make test  - set up, run every test (make lint: the linters alone; make bench: the benchmarks;
#               make docs: these pages as a site in site/; make shown: what the pages show, run again and written down anew;
#               make audit: known weaknesses of the packages in constraints.txt, asked of a service on the network;
#               make studies: the main approaches and the ablations, an hour or two; make results: docs/results.md,
#               docs/board.md and docs/paper.md from the records in docs/results, docs/board and docs/paper)
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint audit docs shown bench studies results clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tadge needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "setting up $(VENV) (torch is large: a minute or two the first time)"
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "setting up $(VENV) for development (torch is large: a minute or two the first time)"
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core
	@rm -rf demo
	$(BIN)/tadge run --out demo --budget 2m --steps 150 --trees 100
	@echo "now open demo/report.html"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(BIN)/python
	$(BIN)/python -m venv $(VENV)/audit && $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit \
		|| { echo "audit: pip-audit cannot be had; it needs a network"; exit 1; }
	@$(VENV)/audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip; code=$$?; \
		[ $$code -eq 0 ] || echo "audit: see above; without a network nothing can be looked up"; exit $$code

test: lint
	$(BIN)/python -m pytest -n 2

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean
	@echo "the pages are in site/: open site/index.html"

shown: $(VENV)/.dev
	$(BIN)/python docs/making/shown.py

bench: $(VENV)/.dev
	$(PIP) --editable '.[dev,bench]'
	@for name in ingest walks initialise training depth forecast within surprise; do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

studies: $(VENV)/.dev
	$(BIN)/python benchmarks/ablate.py
	@for name in bitcoin-otc college-msg; do for task in links toe; do \
		$(BIN)/python benchmarks/approaches.py $$name $$task || exit 1; done; done

results: $(VENV)/.core
	$(BIN)/python -m tadge.report.results docs/results > docs/results.md.part
	mv docs/results.md.part docs/results.md
	$(BIN)/python -m tadge.report.board docs/board > docs/board.md.part
	mv docs/board.md.part docs/board.md
	$(BIN)/python -m tadge.reproduction.results docs/paper > docs/paper.md.part
	mv docs/paper.md.part docs/paper.md

clean:
	rm -rf $(VENV) demo site build dist
