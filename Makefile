# The index of commands. Each target sets up its own environment from nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow test-minimum check docs dist bench clean
.DEFAULT_GOAL := test

# The demo needs the package alone; tests and checks need every extra and their tools, in the same environment.
$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.ready: $(VENV)/.core
	$(BIN)/pip install --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/.core
	$(BIN)/camilla demo -o demo

test: $(VENV)/.ready
	$(BIN)/pytest -m 'not slow'

test-slow: $(VENV)/.ready
	$(BIN)/pytest -m slow

# The oldest versions that pyproject.toml admits. What old packages deprecate in newer ones is not ours to mend.
$(VENV)-minimum/.ready: pyproject.toml scripts/minimum_versions.py
	$(PYTHON) -m venv $(VENV)-minimum
	$(VENV)-minimum/bin/python scripts/minimum_versions.py > $(VENV)-minimum/constraints.txt
	$(VENV)-minimum/bin/pip install --quiet --constraint $(VENV)-minimum/constraints.txt --editable '.[dev]'
	touch $@

test-minimum: $(VENV)-minimum/.ready
	$(VENV)-minimum/bin/pytest -m 'not slow' -W ignore::DeprecationWarning

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)-docs/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

# The site, in build/docs: pages, API from docstrings, executed notebooks. A warning is an error.
docs: $(VENV)-docs/.ready
	$(VENV)-docs/bin/sphinx-build --fail-on-warning --keep-going --nitpicky --quiet docs build/docs

# The sdist and the wheel, in dist/, each tried in a clean environment without extras.
$(VENV)-dist/.ready: Makefile
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/pip install --quiet 'build>=1.2'
	touch $@

dist: $(VENV)-dist/.ready
	$(VENV)-dist/bin/python scripts/distribution.py dist

$(VENV)-bench/.ready: pyproject.toml constraints.txt benchmarks/requirements.txt benchmarks/requirements-alone.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet -c constraints.txt --editable '.[neural]' -r benchmarks/requirements.txt
	$(VENV)-bench/bin/pip install --quiet --no-deps -r benchmarks/requirements-alone.txt
	touch $@

bench: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-dist $(VENV)-docs $(VENV)-minimum build demo dist
