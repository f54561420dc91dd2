# Two commands do everything on a machine that has only Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test lint format clean

demo: .venv/.installed  ## install, then a Pareto search on a bundled benchmark table into runs/demo
	$(BIN)/supernetic search --table nasbench201 --objective "max c10_valid_200" --objective "min macs" \
	    --where "macs<=100M" --out runs/demo

test: .venv/.dev lint  ## install, lint, types, all tests
	$(BIN)/pytest -n 2

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv runs .mypy_cache .pytest_cache .ruff_cache

.venv/.made:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/.dev: .venv/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
