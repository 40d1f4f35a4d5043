"""Plug-ins that tests build, and the tables of their runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import dumbbell

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "crates" / "plugin" / "include"
EXAMPLES = ROOT / "examples" / "plugins"
BAD = ROOT / "tests" / "bad_plugins"


def library(source: Path, to: Path, *options: str) -> Path:
    """Compiles a plug-in in C."""
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run([*command, *options, "-o", to, source], check=True, capture_output=True)
    return to


def wasm_of_c(source: Path, to: Path) -> Path:
    """Compiles a plug-in in C to WebAssembly, as `dumbbell_cc.h` says."""
    if not shutil.which("clang") or not shutil.which("wasm-ld"):
        pytest.skip("no clang and wasm-ld")
    command = ["clang", "--target=wasm32", "-mbulk-memory", "-O2", "-nostdlib", "-Wl,--no-entry"]
    exports = ["-Wl,--export-table", "-Wl,--export=dumbbell_cc_v1", f"-I{INCLUDE}"]
    subprocess.run([*command, *exports, "-o", to, source], check=True, capture_output=True)
    return to


def wasm_environment() -> dict[str, str]:
    """Environment in which cargo builds for WebAssembly."""
    finder = [sys.executable, ROOT / "scripts" / "wasm_toolchain.py"]
    found = subprocess.run(finder, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(found.stderr.strip())
    compiler, *linker = found.stdout.split()
    names = ("RUSTC", "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER")
    return os.environ | dict(zip(names, [compiler, *linker], strict=False))


def wasm_of_rust(package: str) -> Path:
    """Compiles a package of the workspace to WebAssembly."""
    target, triple = ROOT / "target" / "wasm", "wasm32-unknown-unknown"
    command = ["cargo", "rustc", "--quiet", "--ignore-rust-version", "--profile", "page"]
    where = ["--package", package, "--target", triple, "--target-dir", target]
    link = ["--", "-C", "link-arg=--export-table"]
    subprocess.run([*command, *where, *link], cwd=ROOT, env=wasm_environment(), check=True)
    return target / triple / "page" / f"{package.replace('-', '_')}.wasm"


def same_tables(results: dumbbell.Results, name: str, other: str) -> None:
    """Asserts that two levels of the factor `cc` gave the same rows of all tables, names aside."""
    for table in ("flows", "pipes", "samples", "queues"):
        frame = getattr(results, table)
        names = ("cc", "run", "congestion_control", "phase")
        drop = [one for one in names if one in frame.columns]
        one, two = (frame.filter(pl.col("cc") == level).drop(drop) for level in (name, other))
        assert one.height > 0, table
        assert one.equals(two), f"{table}: {name} and {other}"
