# Everything runs in a virtual environment of its own, .venv, made on first use.
#
#   PYTHON=python3.12      the interpreter to use instead of the first suitable one
#   TORCH_VERSION=2.13.0   the release of torch
#   TORCH_INDEX=…          one more package index, for builds of torch that your usual one lacks
#   DATA=…                 folder of corpora; the tests that need one are skipped without it
#   PYTEST_ARGS=…          handed to pytest, which runs a process per core (-n 0: just one)

PYTHON ?=
TORCH_VERSION ?= 2.13.0
TORCH_INDEX ?=
DATA ?=
PYTEST_ARGS ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test install clean same-python

CANDIDATES := $(or $(PYTHON),python3.11 python3.12 python3.13 python3)
VENV := .venv
LOG := $(VENV)/install.log
BIN := $(VENV)/bin
FAIRSEQ := $(shell sed -n 's/^ *\(fairseq-fixed==.*\)/\1/p' setup.cfg)
HASH := $(shell cat setup.cfg pyproject.toml | cksum | cut -d' ' -f1)

# One file marks each finished step, so that a second call installs nothing and an interrupted
# one goes on where it stopped; a change of setup.cfg repeats the last step only.
MADE := $(VENV)/step-1-made
TORCH := $(VENV)/step-2-torch-$(TORCH_VERSION)
FAIRSEQ_BUILT := $(VENV)/step-3-$(FAIRSEQ)
INSTALLED := $(VENV)/step-4-package-$(HASH)

export DATA
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

help: ## list the targets
	@echo "usage: make <target> [VARIABLE=value]; the variables are explained at the top of Makefile"
	sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

demo test: export PATH := $(CURDIR)/$(BIN):$(PATH)

demo: install ## train and evaluate a small translation model with scheduled sampling
	@RECORD=0 bash recipes/scheduled_sampling/synthetic.sh top_k

test: install ## ruff, then the whole test suite
	@ruff check .
	python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

install: same-python $(INSTALLED) ## make .venv and install everything into it

clean: ## remove .venv and whatever tools left behind
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the installation, step by step ---

define FUNCTIONS
step() { printf '[%s/4] %s\n' "$$1" "$$2"; }
notice() { printf '      %s\n' "$$@"; }
die() { printf 'error: %s\n' "$$1" >&2; exit 1; }

# Does this interpreter run at all (some are shims that lead nowhere), and is it of the right age?
suits() {
    "$$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}
has_venv() { "$$1" -c 'import venv, ensurepip' 2>/dev/null; }
has_headers() {
    "$$1" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
}
has_cuda() { [ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1; }

# What the distribution calls an interpreter, as in python3.12-venv
name_of() { "$$1" -c 'import sys; print("python%d.%d" % sys.version_info[:2])'; }

need_disk() { # gigabytes
    local free=$$(( $$(df -Pk . | awk 'NR == 2 { print $$4 }') / 1000000 ))
    [ "$$free" -ge "$$1" ] || die "disk full: $$PWD has $$free GB left, and this needs $$1 GB"
}

# pip's whole output goes to the log; what it is busy with, to the screen.
try_pip() {
    log_start=$$(( $$(wc -l < $(LOG)) + 1 ))
    echo "$$ pip install $$*" >> $(LOG)
    $(BIN)/python -m pip install "$$@" 2>&1 | tee -a $(LOG) | sed -un \
        -e 's/^Collecting \([^ ]*\).*/      \1/p' \
        -e 's/^Processing .*\/\([^/-]*\)-.*/      \1/p' \
        -e 's/^ *Building \(wheel for [^ ]*\).*/      \1/p'
}
pip_install() { try_pip "$$@" || explain; }
this_log() { tail -n "+$$log_start" $(LOG); }
logged() { this_log | grep -qE "$$1"; }
offline() {
    logged 'name resolution|Failed to resolve|Name or service not known|Network is unreachable' \
        || logged 'Connection refused|ConnectTimeout|ReadTimeout|timed out'
}

explain() {
    this_log | tail -n 25 >&2
    echo "(the whole log is $(LOG))" >&2
    if logged 'No space left on device'; then
        die "disk full: pip ran out of space; free some, then run make again"
    elif offline; then
        die "no network: pip could not reach its package index"
    elif logged 'from versions: none'; then
        local what=$$(this_log | sed -n 's/.*satisfies the requirement \([^ ]*\).*/\1/p' | head -n 1)
        die "pip found no $$what whatsoever: no network, or a package index without it"
    elif logged 'No matching distribution found'; then
        local what=$$(this_log | sed -n 's/.*No matching distribution found for //p' | head -n 1)
        die "pip's package index has no $$what for $$(name_of $(BIN)/python)"
    elif logged 'Python\.h: No such file'; then
        die "the headers of Python are missing: apt install $$(name_of $(BIN)/python)-dev"
    elif logged "command '.*(cc|\+\+|clang).*' failed"; then
        die "the C++ compiler failed, as shown above"
    fi
    die "pip failed, as shown above; if $(VENV) itself is broken: make clean"
}

torch_version() { $(BIN)/python -c 'import importlib.metadata as m; print(m.version("torch"))'; }
endef

same-python:
	@[ -n '$(PYTHON)' ] && [ -e $(MADE) ] || exit 0
	$(FUNCTIONS)
	suits '$(PYTHON)' || die "PYTHON=$(PYTHON) does not run, or is not Python 3.11, 3.12 or 3.13"
	[ "$$(name_of '$(PYTHON)')" = "$$(name_of $(BIN)/python)" ] \
		|| die "$(VENV) was made with $$(name_of $(BIN)/python), not with $(PYTHON): make clean first"

$(MADE):
	@$(FUNCTIONS)
	python=''
	for candidate in $(CANDIDATES); do
		if suits "$$candidate"; then python=$$candidate; break; fi
	done
	[ -n "$$python" ] || die "no suitable Python, which is 3.11, 3.12 or 3.13 (looked for:\
	 $(CANDIDATES)): apt install python3 python3-venv python3-dev"
	name=$$(name_of "$$python")
	has_venv "$$python" || die "$$python cannot make virtual environments: apt install $$name-venv"
	has_headers "$$python" || die "the headers of $$python are missing: apt install $$name-dev"
	command -v "$${CXX:-g++}" >/dev/null \
		|| die "no C++ compiler ($${CXX:-g++}), which fairseq is built with: apt install g++"
	need_disk 3
	step 1 "making $(VENV) with $$("$$python" --version)"
	rm -rf $(VENV)
	"$$python" -m venv $(VENV) || die "$$python could not make $(VENV), as shown above"
	touch $(LOG) $@

$(TORCH): $(MADE)
	@$(FUNCTIONS)
	index=( $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)') )
	if has_cuda; then
		need_disk 10
		step 2 "installing torch $(TORCH_VERSION) for CUDA (several GB)"
		# Three equal signs keep pip from taking a build for another device, such as 2.13.0+cpu.
		pip_install "$${index[@]}" 'torch===$(TORCH_VERSION)' numpy
	else
		step 2 "installing torch $(TORCH_VERSION) for the processor"
		if ! try_pip "$${index[@]}" 'torch==$(TORCH_VERSION)+cpu' numpy; then
			if offline || ! logged 'No matching distribution found for torch'; then explain; fi
			notice "no build for processors only is at hand, so this takes the default one, which" \
				"includes CUDA's libraries (several GB); to avoid that:" \
				"make TORCH_INDEX=<your index with CPU builds> install"
			need_disk 10
			pip_install 'torch==$(TORCH_VERSION)' numpy
		fi
	fi
	# From here on pip must not exchange it for another build.
	echo "torch===$$(torch_version)" > $(VENV)/constraints.txt
	touch $@

$(FAIRSEQ_BUILT): $(TORCH)
	@$(FUNCTIONS)
	step 3 "building $(FAIRSEQ) (a minute or two)"
	pip_install -c $(VENV)/constraints.txt numpy cython setuptools wheel
	# With build isolation, pip would download a second torch only to build with it.
	pip_install -c $(VENV)/constraints.txt --no-build-isolation '$(FAIRSEQ)'
	touch $@

$(INSTALLED): $(FAIRSEQ_BUILT)
	@$(FUNCTIONS)
	step 4 "installing fairseq-struct and its test tools"
	pip_install -c $(VENV)/constraints.txt --no-build-isolation -e '.[dev]'
	[ "torch===$$(torch_version)" = "$$(cat $(VENV)/constraints.txt)" ] \
		|| die "a dependency replaced torch by $$(torch_version): make clean"
	if [[ "$$(torch_version)" == *+cpu ]] && compgen -G '$(VENV)/lib/*/site-packages/nvidia_*'; then
		die "a dependency brought CUDA's libraries onto a machine without CUDA: make clean"
	fi
	rm -f $(VENV)/step-4-*
	touch $@
	echo "installed; 'source $(BIN)/activate' makes the commands available"
