# make demo  - set up, run the main job on a built-in graph
# make test  - set up, run every test (make lint: the linters alone; make bench: the benchmarks;
#               make studies: the main approaches and the ablations, an hour or two; make results: docs/results.md from the
#               records in docs/results)
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint bench studies results clean

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
	$(BIN)/python examples/forum.py --out demo
	$(BIN)/tadge info demo/forum.csv --quiet

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2

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

clean:
	rm -rf $(VENV) demo build dist
