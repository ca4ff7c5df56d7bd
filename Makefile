# Everything runs in the project's own environment: .venv, made on first use.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench docs clean
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

bench: .venv/installed
	$(BIN)/python benchmarks/sure.py
	$(BIN)/python benchmarks/methods.py

docs: .venv/installed
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "surelabel needs Python 3.11 or later: make PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[dask]"
	touch $@

clean:
	rm -rf .venv
