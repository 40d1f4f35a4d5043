"""Plug-ins that tests build, and the tables of their runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl

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


def same_tables(results: dumbbell.Results, name: str, other: str) -> None:
    """Asserts that two levels of the factor `cc` gave the same rows of all tables, names aside."""
    for table in ("flows", "pipes", "samples", "queues"):
        frame = getattr(results, table)
        drop = [one for one in ("cc", "run", "congestion_control") if one in frame.columns]
        one, two = (frame.filter(pl.col("cc") == level).drop(drop) for level in (name, other))
        assert one.height > 0, table
        assert one.equals(two), f"{table}: {name} and {other}"
