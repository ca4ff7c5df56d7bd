# Everything runs in the project's own environment: .venv, made on first use.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-lowest lint bench docs dist clean
.DEFAULT_GOAL := demo

demo: .venv/installed
	$(BIN)/surelabel demo

# One BLAS thread per test process: more would only get into each other's way.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: .venv/installed
	$(BIN)/python -m pytest -n auto

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

bench: .venv/installed
	$(BIN)/python benchmarks/sure.py
	$(BIN)/python benchmarks/methods.py

docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/installed
	$(BIN)/mkdocs build --strict --quiet

# Every direct dependency in the lowest version that pyproject.toml declares. What they themselves
# need is new, and calls some of their ways deprecated: that alone is not an error here.
test-lowest: export OPENBLAS_NUM_THREADS = 1
test-lowest: export OMP_NUM_THREADS = 1
test-lowest: .venv/installed
	$(BIN)/python -m pip install --quiet "uv>=0.8"
	$(BIN)/uv venv --quiet --clear --seed --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest --resolution lowest-direct --group test --editable ".[all]"
	.venv-lowest/bin/python -m pytest -n auto $(LOWEST_WARNINGS)

LOWEST_WARNINGS := -W default::DeprecationWarning -W default::PendingDeprecationWarning -W default::FutureWarning

# The source archive, and the wheel made of it.
dist: .venv/installed
	rm -rf dist
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "surelabel needs Python 3.11 or later: make PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[all]"
	touch $@

clean:
	rm -rf .venv .venv-lowest dist site
