#!/usr/bin/env bash
# Builds the guest's program (crates/guest), static, into the Python package. First argument: another
# target of Rust than the host's; of musl, the linker of Rust itself links.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${1:-$(rustc -vV | sed -n 's/^host: //p')}"
folder="${CARGO_TARGET_DIR:-target}"
if [[ "$target" == *-musl ]]; then
    linker="CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<< "$target")_LINKER"
    export "$linker=rust-lld"
fi
# With --target, build scripts and procedural macros stay dynamic.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --quiet --profile guest --package dumbbell-guest --target "$target"
mkdir -p dumbbell/_guest
built="$folder/$target/guest/dumbbell-guest"
cmp --silent "$built" dumbbell/_guest/dumbbell-guest || cp "$built" dumbbell/_guest/
