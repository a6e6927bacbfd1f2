#!/usr/bin/env bash
# Make .venv and install everything into it; `make install` calls this script.
#
#   install.sh packages    the environment, torch, fairseq, this package and its test tools
#   install.sh kernels     compile ahead of time what would be compiled at first use
#
# The variables are explained at the top of Makefile. A file marks each finished step. A second call
# installs nothing, and an interrupted call continues where it stopped. A change of setup.cfg
# repeats only the steps that depend on it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-}
TORCH_VERSION=${TORCH_VERSION:-2.13.0}
TORCH_INDEX=${TORCH_INDEX:-}
FAIRSEQ=${FAIRSEQ:-}
export PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

VENV=.venv
LOG=$VENV/install.log
CONSTRAINTS=$VENV/constraints.txt
if [ -n "$PYTHON" ]; then CANDIDATES=("$PYTHON")
else CANDIDATES=(python3.11 python3.12 python3.13 python3); fi

hash_of() { cat "$@" | cksum | cut -d' ' -f1; }
MADE=$VENV/step-1-made
TORCH=$VENV/step-2-torch-$TORCH_VERSION
INSTALLED=$VENV/step-3-package-$(hash_of setup.cfg pyproject.toml)
# Hash of the sources of machine code (as in kernel_cache.py) and of the uses compiled beforehand.
COMPILED=$VENV/step-4-kernels-$(find -L fairseq_struct \
    \( -name '*_kernels.py' -o -name compiled.py -o -name ahead_of_time.py \) -print0 \
    | LC_ALL=C sort -z | xargs -0 cat | cksum | cut -d' ' -f1)

step() { printf '[%s/4] %s\n' "$1" "$2"; }
notice() { printf '      %s\n' "$@"; }
die() { printf 'error: %s\n' "$1" >&2; exit 1; }

# --- what is installed ---

# Does this interpreter run (some are shims without a target), and is its version suitable?
suits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}
has_venv() { "$1" -c 'import venv, ensurepip' 2>/dev/null; }
has_headers() {
    "$1" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
}
has_cuda() { [ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1; }

# The distribution's name of an interpreter, as in python3.12-venv.
name_of() { "$1" -c 'import sys; print("python%d.%d" % sys.version_info[:2])'; }

ask() { "$VENV/bin/python" -c "$1"; }
torch_version() { ask 'import importlib.metadata as m; print(m.version("torch"))'; }

# compat.py lists the builds of fairseq and chooses one; it runs before anything is installed.
fairseq_wanted() { # interpreter
    "$1" -c "from fairseq_struct import compat; print(compat.fairseq_requirement('$FAIRSEQ'))"
}
fairseq_default() { ask 'from fairseq_struct import compat; print(compat.fairseq_requirement())'; }
fairseq_found() { ask 'from fairseq_struct import compat; print(*compat.installed_fairseq())'; }

need_disk() { # gigabytes
    local free=$(( $(df -Pk . | awk 'NR == 2 { print $4 }') / 1000000 ))
    [ "$free" -ge "$1" ] || die "disk full: $PWD has $free GB left, but $1 GB are needed"
}
need_compiler() { # interpreter
    has_headers "$1" || die "the headers of $1 are missing: apt install $(name_of "$1")-dev"
    command -v "${CXX:-g++}" >/dev/null \
        || die "no C++ compiler (${CXX:-g++}), which fairseq is built with: apt install g++"
}

# --- pip, and explanations of its failures ---

# pip's whole output goes to the log; the screen shows only the package in progress.
try_pip() {
    log_start=$(( $(wc -l < "$LOG") + 1 ))
    echo "$ pip $*" >> "$LOG"
    "$VENV/bin/python" -m pip "$@" 2>&1 | tee -a "$LOG" | sed -un \
        -e 's/^Collecting \([^ ]*\).*/      \1/p' \
        -e 's/^Processing .*\/\([^/-]*\)-.*/      \1/p' \
        -e 's/^ *Building \(wheel for [^ ]*\).*/      \1/p'
}
pip_install() { try_pip install "$@" || explain; }
this_log() { tail -n "+$log_start" "$LOG"; }
logged() { this_log | grep -qE "$1"; }
offline() {
    logged 'name resolution|Failed to resolve|Name or service not known|Network is unreachable' \
        || logged 'Connection refused|ConnectTimeout|ReadTimeout|timed out'
}

explain() {
    local what
    this_log | tail -n 25 >&2
    echo "(the whole log is $LOG)" >&2
    if logged 'No space left on device'; then
        die "disk full: pip ran out of space; free some, then run make again"
    elif offline; then
        die "no network: pip could not reach its package index"
    elif logged 'from versions: none'; then
        what=$(this_log | sed -n 's/.*satisfies the requirement \([^ ]*\).*/\1/p' | head -n 1)
        die "pip found no $what at all: no network, or a package index without it"
    elif logged 'No matching distribution found'; then
        what=$(this_log | sed -n 's/.*No matching distribution found for //p' | head -n 1)
        die "pip's package index has no $what for $(name_of "$VENV/bin/python")"
    elif logged 'Python\.h: No such file'; then
        die "the headers of Python are missing: apt install $(name_of "$VENV/bin/python")-dev"
    elif logged "command '.*(cc|\+\+|clang).*' failed"; then
        die "the C++ compiler failed, as shown above"
    fi
    die "pip failed, as shown above; if $VENV itself is broken: make clean"
}

# --- the steps ---

check_python() {
    [ -n "$PYTHON" ] && [ -e "$MADE" ] || return 0
    suits "$PYTHON" || die "PYTHON=$PYTHON does not run, or is not Python 3.11, 3.12 or 3.13"
    [ "$(name_of "$PYTHON")" = "$(name_of "$VENV/bin/python")" ] \
        || die "$VENV was made with $(name_of "$VENV/bin/python"), not with $PYTHON: run make clean first"
}

make_environment() {
    local candidate python='' wanted
    for candidate in "${CANDIDATES[@]}"; do
        if suits "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || die "no suitable Python (3.11, 3.12 or 3.13; looked for: ${CANDIDATES[*]}): apt install python3 python3-venv"
    has_venv "$python" \
        || die "$python cannot make virtual environments: apt install $(name_of "$python")-venv"
    wanted=$(fairseq_wanted "$python")
    [[ "$wanted" != fairseq-fixed* ]] || need_compiler "$python"
    need_disk 3
    step 1 "making $VENV with $("$python" --version)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV" || die "$python could not make $VENV, as shown above"
    touch "$LOG" "$MADE"
}

install_torch() {
    local index=()
    [ -z "$TORCH_INDEX" ] || index=(--extra-index-url "$TORCH_INDEX")
    if has_cuda; then
        need_disk 10
        step 2 "installing torch $TORCH_VERSION for CUDA (several GB)"
        # Three equal signs keep pip from taking a build for another device, such as 2.13.0+cpu.
        pip_install "${index[@]}" "torch===$TORCH_VERSION" numpy
    else
        step 2 "installing torch $TORCH_VERSION for the processor"
        if ! try_pip install "${index[@]}" "torch==$TORCH_VERSION+cpu" numpy; then
            # With constraints of the user's own, pip calls a missing build a conflict.
            if offline || ! logged 'No matching distribution found for torch|ResolutionImpossible'
            then explain; fi
            notice "no build for processors only is at hand, so this takes the default one, which" \
                "includes CUDA's libraries (several GB); to avoid that:" \
                "make TORCH_INDEX=<your index with CPU builds> install"
            need_disk 10
            pip_install "torch==$TORCH_VERSION" numpy
        fi
    fi
    # From here on pip must not replace this torch by another build.
    echo "torch===$(torch_version)" > "$CONSTRAINTS"
    touch "$TORCH"
}

install_fairseq() { # requirement, further options of pip
    if [[ "$1" == fairseq-fixed* ]]; then
        # If only its source is available, it compiles against the installed torch. With build
        # isolation pip would download a second torch only for the build.
        notice "building $1, unless there is a wheel (1 to 6 minutes)"
        pip_install -c "$CONSTRAINTS" numpy cython setuptools wheel
        pip_install -c "$CONSTRAINTS" --no-build-isolation "$@"
    else
        pip_install -c "$CONSTRAINTS" "$@"
    fi
}

install_package() {
    local fairseq
    step 3 "installing fairseq-struct, fairseq and the test tools"
    fairseq=$(fairseq_default)
    install_fairseq "$fairseq"
    pip_install -c "$CONSTRAINTS" -e '.[dev]'
    [ "torch===$(torch_version)" = "$(cat "$CONSTRAINTS")" ] \
        || die "a dependency replaced torch by $(torch_version): make clean"
    if [[ "$(torch_version)" == *+cpu ]] && compgen -G "$VENV/lib/*/site-packages/nvidia_*"; then
        die "a dependency brought CUDA's libraries onto a machine without CUDA: make clean"
    fi
    rm -f "$VENV"/step-3-*
    touch "$INSTALLED"
}

# All builds of fairseq write the same files. Only one can be installed; another one replaces it.
exchange_fairseq() {
    local wanted found
    wanted=$(fairseq_wanted "$VENV/bin/python")
    found=$(fairseq_found)
    [ "$found" != "$wanted" ] || return 0
    notice "exchanging fairseq: ${found:-none} -> $wanted"
    try_pip uninstall -y fairseq fairseq-fixed ve-fairseq || explain
    install_fairseq "$wanted" --no-deps
}

compile_kernels() {
    step 4 "compiling kernels ahead of time, which the first use would otherwise do"
    if "$VENV/bin/python" -m fairseq_struct.cli.main doctor --compile; then
        rm -f "$VENV"/step-4-*
        touch "$COMPILED"
    else
        notice "that did not work; each kernel is then compiled at its first use"
    fi
}

case "$FAIRSEQ" in
'' | ve-fairseq | fairseq-fixed) ;;
*) die "FAIRSEQ=$FAIRSEQ is not a known build of fairseq; choose ve-fairseq or fairseq-fixed" ;;
esac
case "${1:-}" in
packages)
    check_python
    [ -e "$MADE" ] || make_environment
    [ -e "$TORCH" ] || install_torch
    if [ ! -e "$INSTALLED" ]; then
        install_package
        exchange_fairseq
        echo "installed; 'source $VENV/bin/activate' makes the commands available"
    else
        exchange_fairseq
    fi
    ;;
kernels)
    [ -e "$COMPILED" ] || compile_kernels
    ;;
*)
    die "usage: install.sh packages|kernels"
    ;;
esac
