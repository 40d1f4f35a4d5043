#!/usr/bin/env bash
# Builds the guest's program (crates/guest), static, into the Python package. First argument: another
# target of Rust than the host's; Debian's cross compiler links it, with its static glibc.
set -euo pipefail
cd "$(dirname "$0")/.."

host="$(rustc -vV | sed -n 's/^host: //p')"
target="${1:-$host}"
folder="${CARGO_TARGET_DIR:-target}"
if [ "$target" != "$host" ]; then
    export "CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<< "$target")_LINKER=${target/-unknown/}-gcc"
fi
# With --target, build scripts and procedural macros stay dynamic.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --quiet --profile guest --package dumbbell-guest --target "$target"
mkdir -p dumbbell/_guest
built="$folder/$target/guest/dumbbell-guest"
cmp --silent "$built" dumbbell/_guest/dumbbell-guest || cp "$built" dumbbell/_guest/
