# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test torture lint format clean

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

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
