# `make demo` shows the product, `make test` checks everything, `make docs` builds the site. Each sets itself up.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
DEMO := $(STAMPS)/demo
TEST := $(STAMPS)/test
INSTALL := $(BIN)/pip install --quiet --no-compile --require-hashes --no-deps

.PHONY: demo test lint types contract tests docs bench lock bom licences audit clean

demo: $(DEMO)
	$(BIN)/soel demo --out demo

test: lint types contract tests

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST)
	$(BIN)/mypy

contract: $(TEST)
	$(BIN)/lint-imports

tests: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

docs: $(TEST)
	$(BIN)/sphinx-build --fail-on-warning --fresh-env --quiet docs site

bench: $(TEST)
	$(BIN)/python -m benchmarks

# The stamp of a set-up: its lock file, installed with the digest of every file checked. torch comes without CUDA
# where an index of yours has that build, else as the public index has it.
$(STAMPS)/%: lock/%.txt lock/torch.txt lock/torch-cpu.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -r $<
	$(INSTALL) -r lock/torch-cpu.txt 2>/dev/null || $(INSTALL) -r lock/torch.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	mkdir -p $(STAMPS) && touch $@

lock:
	$(PYTHON) scripts/lock.py

clean:
	rm -rf $(VENV) demo site build dist
