#!/usr/bin/env bash
# Creates the virtual environment (first argument) with the locked versions. Installs missing system
# packages with apt if this user is root; otherwise prints their names.
set -euo pipefail

venv="${1:?usage: setup.sh FOLDER}"
python="${PYTHON:-python3}"
missing=() wanted=()

have() { command -v "$1" > /dev/null 2>&1; }

have "$python" || missing+=(python3)
have cc || missing+=(build-essential)
if have "$python" && ! "$python" -c 'import ensurepip, venv' > /dev/null 2>&1; then
    missing+=(python3-venv)
fi
# For the engine linux: programs of its guests, and tools that build their kernel.
for pair in ip:iproute2 flex:flex bison:bison bc:bc xz:xz-utils patch:patch; do
    have "${pair%%:*}" || [ -x "/usr/sbin/${pair%%:*}" ] || [ -x "/sbin/${pair%%:*}" ] ||
        wanted+=("${pair#*:}")
done

if ((${#missing[@]} || ${#wanted[@]})); then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        missing+=("${wanted[@]}")
        echo "setup: installing ${missing[*]}"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" > /dev/null
    elif ((!${#missing[@]})); then
        echo "setup: the engine linux needs: ${wanted[*]}" >&2
    else
        echo "setup: these packages are missing: ${missing[*]}" >&2
        echo "setup: install them, for example with: sudo apt-get install ${missing[*]}" >&2
        exit 2
    fi
fi

"$python" - << 'PY' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit(f"setup: Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]};"
             " name another with: make PYTHON=/path/to/python3")
PY

if ! have cargo; then
    echo "setup: cargo is missing; Rust 1.91 or newer is needed" >&2
    exit 2
fi
rust="$(rustc --version | cut -d' ' -f2)"
if [ "$(printf '1.91.0\n%s\n' "$rust" | sort -V | head -n 1)" != "1.91.0" ]; then
    echo "setup: Rust 1.91 or newer is needed, found $rust" >&2
    exit 2
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.lock
