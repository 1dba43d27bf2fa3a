# Two commands: `make demo` shows the product, `make test` checks everything. Both set themselves up.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types contract tests bench clean

demo: $(STAMP)
	$(BIN)/soel demo --out demo

test: lint types contract tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contract: $(STAMP)
	$(BIN)/lint-imports

tests: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

bench: $(STAMP)
	$(BIN)/python -m benchmarks

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	$(BIN)/pip install --quiet -c constraints.txt --no-deps deepod  # a peer; it pins an old torch it does not need
	touch $@

clean:
	rm -rf $(VENV) demo build dist
