# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test torture lint docs format comparators clean

demo: $(VENV)/installed
	$(BIN)/smore demo

# One worker per core with one torch thread each: threads fighting over cores are many times slower.
test: $(VENV)/installed-dev
	$(BIN)/pytest -n auto --dist worksteal

# What must not happen, tried many times: kills, damaged and hostile files, full disks, wrong input.
torture: $(VENV)/installed-dev
	$(BIN)/python tests/torture

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	PYTHONPATH=tools $(BIN)/python -m check_numbers

# The site in build/site: links and code checked, notebooks run, options and names documented.
docs: $(VENV)/installed-dev
	PYTHONPATH=tools $(BIN)/python -m build_docs

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar off -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --progress-bar off -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/installed

# Libraries that `smore bench comparators` runs, each in an environment of its own: what they need
# contradicts what we need, and each other.
COMPARATORS := .venv-comparators
comparators: $(COMPARATORS)/dapper/installed $(COMPARATORS)/pyshred/installed

$(COMPARATORS)/dapper/installed: PACKAGES := dapper==1.7.1 numpy==2.4.6 scipy==1.17.1
$(COMPARATORS)/pyshred/installed: FIRST := torch==2.13.0
$(COMPARATORS)/pyshred/installed: PACKAGES := pyshred==1.1.0 numpy==1.26.4 torch==2.13.0 setuptools==80.9.0
# FIRST comes first: of what merely asks for torch, pip would take the newest, and gigabytes with it.
# Setuptools: the last ones with pkg_resources, which pysindy, that pyshred imports, still asks for.
$(COMPARATORS)/%/installed: Makefile
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(if $(FIRST),$(@D)/bin/pip install --progress-bar off $(FIRST))
	$(@D)/bin/pip install --progress-bar off $(PACKAGES)
	touch $@

clean:
	rm -rf $(VENV) $(COMPARATORS) .pytest_cache .mypy_cache .ruff_cache
