# Works with nothing but Python 3.11+ and make; everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps

.PHONY: demo test lint bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: $(STAMPS)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(STAMPS)/yardsticks: $(STAMPS)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 extensisq
	@touch $@

# A first figure, its claims, and where the picture is.
demo: $(STAMPS)/core
	$(BIN)/latebloom reproduce beyond-l2/fig3 --out out

test: lint
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=worksteal

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

# PyTorch and extensisq are only yardsticks: without them their comparisons are left out.
bench: $(STAMPS)/yardsticks
	$(BIN)/latebloom bench

clean:
	rm -rf $(VENV) $(STAMPS) out
