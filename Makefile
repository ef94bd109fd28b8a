# The index of commands. Each target sets up its own environment from nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow check docs bench clean
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

$(VENV)-bench/.ready: pyproject.toml constraints.txt benchmarks/requirements.txt benchmarks/requirements-alone.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet -c constraints.txt --editable '.[neural]' -r benchmarks/requirements.txt
	$(VENV)-bench/bin/pip install --quiet --no-deps -r benchmarks/requirements-alone.txt
	touch $@

bench: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-docs build demo
