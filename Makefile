# Two commands do everything on a machine that has only Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/pytest -n 2

.PHONY: demo test tests test-all lint format clean

demo: .venv/.installed  ## install, then from images to a finished model and a report, in runs/demo
	$(BIN)/supernetic search --where "macs<=1M" --minutes 1.5 --keep 2 --out runs/demo
	$(BIN)/supernetic predict runs/demo/models/model-1 embedded --top 1 | head -3

test: .venv/.dev  ## install, lint, types, and all tests but the long ones
	$(MAKE) --no-print-directory -j2 lint tests

tests: .venv/.dev
	$(PYTEST) -m "not slow"

test-all: .venv/.dev lint  ## lint, types and every test; what .ci/run runs
	$(PYTEST)

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
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[export]"
	touch $@

.venv/.dev: .venv/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,export,detection]"
	touch $@
