#!/usr/bin/env bash
# Builds the wheel of an architecture (first argument: x86_64 or aarch64) into dist/, with all that
# `make build` makes, and checks its platform tag. Second argument: the virtual environment with maturin.
#
# Zig links against the oldest glibc that Rust's standard library allows (2.17), so that the wheel
# runs on any distribution since CentOS 7. The guest's program is static.
set -euo pipefail
cd "$(dirname "$0")/.."

arch="${1:?usage: build-wheel.sh ARCHITECTURE VENV}"
venv="$(cd "${2:?usage: build-wheel.sh ARCHITECTURE VENV}" && pwd)" bin="$venv/bin"
zig=0.17.1 auditwheel=6.8.2 glibc=2_17
host="$(uname -m)"
rust="$arch-unknown-linux-gnu"

if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$rust/lib" ]; then
    echo "wheel: Rust's standard library for $rust is missing: rustup target add $rust" >&2
    exit 2
fi
if [ "$arch" != "$host" ] && ! command -v "$arch-linux-gnu-gcc" > /dev/null; then
    echo "wheel: $arch-linux-gnu-gcc is missing; Debian has it: apt-get install gcc-$arch-linux-gnu" >&2
    exit 2
fi
"$bin/python" -m pip install --quiet --disable-pip-version-check \
    "ziglang==$zig" "auditwheel==$auditwheel"

dist="$PWD/dist"
if [ "$arch" != "$host" ]; then
    # The package holds one guest's program, that of the host: another one is put into a copy.
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
    copy="$(mktemp -d)"
    trap 'rm -rf "$copy"' EXIT
    git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$copy"
    cd "$copy"
fi
scripts/build-guest.sh "$rust"
scripts/build-playground.sh "$venv"
PATH="$bin:$PATH" "$bin/maturin" build --release --quiet --zig --target "$rust" \
    --compatibility "manylinux_$glibc" --interpreter "$bin/python" --out "$dist"
wheel="$(ls -t "$dist"/dumbbell_lab-*_"$arch".whl | head -n 1)"
found="$("$bin/auditwheel" show "$wheel")"
if [[ "$found" != *"\"manylinux_${glibc}_$arch\""* ]]; then
    echo "$found" >&2
    echo "wheel: $wheel needs more than its name says" >&2
    exit 1
fi
echo "$wheel"
