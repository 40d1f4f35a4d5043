#!/usr/bin/env bash
# Builds the simulator for the offline page (crates/playground), WebAssembly, into the Python package.
# Says why not if there is no compiler for it; everything else works without.
set -euo pipefail

venv="${1:?usage: build-playground.sh FOLDER}"
target="${CARGO_TARGET_DIR:-target}"
# Without a change in its sources nothing is asked for, not even the compiler.
built=dumbbell/playground/playground.wasm
sources=(Cargo.toml Cargo.lock scripts/build-playground.sh scripts/wasm_toolchain.py
    crates/{model,packet,cc,web,capture,sim,experiment,playground})
if [ -f "$built" ] && [ -z "$(find "${sources[@]}" -newer "$built" -type f -print -quit)" ]; then
    exit 0
fi
if ! found="$("$venv/bin/python" scripts/wasm_toolchain.py)"; then
    echo "build: the offline playground is left out" >&2
    exit 0
fi
read -r compiler linker <<< "$found"
export RUSTC="$compiler"
[ -z "${linker:-}" ] || export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker"
# Two compilers in one folder would each discard the other's work.
# Debian's compiler may be older than the workspace's `rust-version`, which arrow asks for: no part of the page.
cargo build --quiet --ignore-rust-version --profile page --package dumbbell-playground --lib \
    --target wasm32-unknown-unknown --target-dir "$target/wasm"
mkdir -p "$(dirname "$built")"
cp "$target/wasm/wasm32-unknown-unknown/page/dumbbell_playground.wasm" "$built"
