# Two commands do everything on a machine that has only Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/pytest -n 2

.PHONY: demo test tests test-all docs lint format release clean

demo: .venv/.installed  ## install, then from images to a finished model and a report, in runs/demo
	$(BIN)/supernetic search --where "macs<=1M" --minutes 1.5 --keep 2 --out runs/demo
	$(BIN)/supernetic predict runs/demo/models/model-1 embedded --top 1 | head -3

test: .venv/.dev  ## install, lint, types, and all tests but the long ones
	$(MAKE) --no-print-directory -j2 lint tests

tests: .venv/.dev
	$(PYTEST) -m "not slow"

test-all: .venv/.dev lint  ## lint, types and every test; .ci/run leaves out the whole campaign, which takes an hour
	$(PYTEST) $(SELECT)

docs: .venv/.dev  ## the site, in build/site: its blocks are run first, and any warning is an error
	$(PYTEST) tests/test_docs.py tests/test_site.py -m "not slow"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release: .release/.made  ## wheel and sdist in dist/, checked as the package index would, and the citation
	rm -rf dist
	.release/bin/python -m build --quiet .
	.release/bin/twine check --strict dist/*
	.release/bin/cffconvert --validate

clean:
	rm -rf .venv .release dist runs .mypy_cache .pytest_cache .ruff_cache

.venv/.made:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[export]"
	touch $@

.venv/.dev: .venv/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs,export,detection,pretrained,timm]"
	touch $@

# Tools that only a release needs; their own environment, because one of them wants an old jsonschema.
.release/.made:
	$(PYTHON) -m venv .release
	.release/bin/pip install --quiet --disable-pip-version-check build==1.6.1 twine==7.0.0 cffconvert==2.0.0
	touch $@
