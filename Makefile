# `make demo` shows the product, `make test` checks everything, `make docs` builds the site. Each sets itself up.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
DEMO := $(STAMPS)/demo
TEST := $(STAMPS)/test
AUDIT := $(VENV)-audit
EXTRACTOR := src/soel/images/efficientnet-lite2.onnx
INSTALL := $(BIN)/pip install --quiet --require-hashes --no-deps

.PHONY: demo test lint types contract tests minimum docs bench lock licences bom audit clean

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

# The default extractor for pictures, which the package carries and git does not.
$(EXTRACTOR): $(TEST)
	test -f $@ || $(BIN)/python -m scripts.export_extractor

tests: $(TEST) $(EXTRACTOR)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

# The tests that the lowest versions of packages were tried with; for an environment that has those.
minimum:
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -W ignore::DeprecationWarning tests/test_estimator.py \
	  tests/tables tests/session tests/images tests/report tests/networks tests/cli

docs: $(TEST)
	$(BIN)/sphinx-build --fail-on-warning --fresh-env --quiet docs site

bench: $(TEST)
	$(BIN)/python -m benchmarks

# The stamp of a set-up: its lock file, installed with the digest of every file checked. The demo needs no torch; for
# the tests it comes without CUDA where an index of yours has that build, else as the public index has it.
$(TEST): lock/torch.txt lock/torch-cpu.txt
$(STAMPS)/%: lock/%.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -r $<
	test $* = demo || $(INSTALL) -r lock/torch-cpu.txt 2>/dev/null || $(INSTALL) -r lock/torch.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	mkdir -p $(STAMPS) && touch $@

lock:
	$(PYTHON) -m scripts.lock

licences: $(TEST)
	$(BIN)/python -m scripts.licences

# What soel with all its extras installs: as a bill of materials, and asked for known vulnerabilities.
bom: $(AUDIT)/.stamp
	$(AUDIT)/bin/cyclonedx-py requirements lock/run.txt --pyproject pyproject.toml --output-file bom.json

audit: $(AUDIT)/.stamp
	$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip --requirement lock/run.txt --requirement lock/torch.txt

$(AUDIT)/.stamp: lock/audit.txt
	test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --require-hashes --no-deps -r $<
	touch $@

clean:
	rm -rf $(VENV) $(AUDIT) demo site build dist bom.json
