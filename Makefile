# Everything runs in the virtual environment .venv, which is made on first use.
#
#   PYTHON=python3.12      the interpreter to use instead of the first suitable one
#   TORCH_VERSION=2.13.0   the release of torch
#   TORCH_INDEX=…          a further package index, for builds of torch that your usual one lacks
#   FAIRSEQ=fairseq-fixed  the build of fairseq (or ve-fairseq) instead of the one setup.cfg chooses
#   DATA=…                 folder of corpora; without it the tests that need a corpus are skipped
#   PYTEST_ARGS=…          arguments for pytest, which runs one process per core (-n 0: only one)

# FAIRSEQ is not read from the environment, where it often is the path of a checkout.
PYTHON ?=
TORCH_VERSION ?= 2.13.0
TORCH_INDEX ?=
FAIRSEQ :=
DATA ?=
PYTEST_ARGS ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo test docs install packages clean

VENV := .venv
export PYTHON TORCH_VERSION TORCH_INDEX FAIRSEQ DATA
export PYTHONNOUSERSITE := 1

help: ## list the targets
	@echo "usage: make <target> [VARIABLE=value]; the variables are explained at the top of Makefile"
	sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

demo test docs: export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

demo: packages ## train and evaluate a small translation model with scheduled sampling
	@python recipes/scheduled_sampling/demo.py

test: install ## ruff, then the whole test suite
	@ruff check .
	python -m pytest -n auto --maxprocesses 16 --dist worksteal $(PYTEST_ARGS)

docs: packages ## build the pages of docs/ into build/site, and check their links and tables
	@python docs/site/options.py --check
	fairseq-struct report --check
	NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict --quiet --config-file docs/site/mkdocs.yml
	echo "build/site/index.html"

install: packages ## make .venv, install everything into it, and compile the kernels
	@bash .ci/install.sh kernels

packages:
	@bash .ci/install.sh packages

clean: ## remove .venv and whatever tools left behind
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
