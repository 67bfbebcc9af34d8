# Works with nothing but Python 3.11+ and make; everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps
# Bytecode is written when a module is first used: most of what is installed never is, and half a minute is saved.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test thorough lint pytest verify mutants images mosaic bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/core: $(BIN)/python pyproject.toml
	$(PIP) --editable .
	@mkdir -p $(STAMPS) && touch $@

# PyTorch is a referee of the tests and a yardstick of the benchmarks; this release has a build without CUDA.
$(STAMPS)/dev: $(BIN)/python pyproject.toml
	$(PIP) torch==2.13.0 --editable '.[dev]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/core

# A first figure, its claims, and where the picture is.
demo: $(STAMPS)/core
	$(BIN)/latebloom reproduce beyond-l2/fig3 --out out

# Side by side: the type checker has one thread, and the tests take what it leaves.
test: $(STAMPS)/dev
	$(MAKE) --jobs=2 lint pytest

PYTEST := $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadgroup

pytest: $(STAMPS)/dev
	$(PYTEST) --part=everyday

# The dearest tests (tests/thorough.txt), as many minutes as all others.
thorough: $(STAMPS)/dev
	$(PYTEST) --part=thorough

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

# The whole catalog, and the record of it that the tests compare with: a quarter of an hour on two cores.
verify: thorough
	$(BIN)/python tests/catalog/test_record.py
	KILLS=6 $(BIN)/python -m pytest tests/engine/test_killed.py

# Deliberate faults, one at a time: which of them do the tests see?
mutants: $(STAMPS)/dev
	$(BIN)/python tests/mutants.py

# The picture of the README.
images: $(STAMPS)/core
	$(BIN)/latebloom reproduce beyond-l2/fig3 --out out
	cp out/beyond-l2-fig3.png docs/images/

# All pictures of the catalog on contact sheets, to be looked at; what is not stored is computed.
mosaic: $(STAMPS)/core
	$(BIN)/python examples/mosaic.py --out out/mosaic

bench: $(STAMPS)/dev
	$(BIN)/latebloom bench

clean:
	rm -rf $(VENV) $(STAMPS) out
