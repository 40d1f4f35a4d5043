#!/usr/bin/env bash
# Builds the guest's program (crates/guest), static, into the Python package.
set -euo pipefail

host="$(rustc -vV | sed -n 's/^host: //p')"
target="${CARGO_TARGET_DIR:-target}"
# With --target, build scripts and procedural macros stay dynamic.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --quiet --profile guest --package dumbbell-guest --target "$host"
mkdir -p dumbbell/_guest
built="$target/$host/guest/dumbbell-guest"
cmp --silent "$built" dumbbell/_guest/dumbbell-guest || cp "$built" dumbbell/_guest/
