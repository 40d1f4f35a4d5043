"""The examples, the reference page and the JSON Schema agree with the program."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dumbbell.experiment import json_schema, load, load_text
from dumbbell.experiment.source import parse
from tests.helpers import BASE, ROOT, loaded
from tests.write_field_index import INDEX, fields, index, text

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
PAGE = text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def completed(block: str) -> str:
    """A part of a file with what it leaves out taken from a whole one."""
    if "dumbbell: 1" in block:
        return block
    written = set(re.findall(r"^(\w+):", block, re.MULTILINE))
    sections = re.split(r"^(?=\w)", BASE, flags=re.MULTILINE)
    kept = [part for part in sections if part.partition(":")[0] not in written]
    if "template" in written or "hosts" in written:
        kept = [part for part in kept if not part.startswith("template")]
    flows = "flows:\n  - {from: SRC, to: DST, tcp: cubic}\n"
    ends = ("s0", "d0") if "parking-lot" in block else ("s1", "d1")
    flows = flows.replace("SRC", ends[0]).replace("DST", ends[1])
    kept = [flows if part.startswith("flows") else part for part in kept]
    return "".join(kept) + block


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads(path: Path) -> None:
    assert load(path).cells


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_every_block_of_the_page_loads(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = (ROOT / "crates/plugin/templates/python/mine.py").read_text("utf-8")
    for name in ("mine.py", "other.py"):  # plug-ins that a block names
        (tmp_path / name).write_text(template, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert loaded(completed(block)).cells


@pytest.mark.slow
def test_the_index_links_every_field() -> None:
    """`python -m tests.write_field_index`"""
    page = INDEX.read_text("utf-8")
    assert index(page) == page
    assert [name for name in sorted(fields()) if f"[`{name}`](" not in page] == []


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema())


def problems(text: str) -> list[str]:
    plain = parse(text, "e.yaml").plain()
    return [error.message for error in validator().iter_errors(plain)]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_accepts_every_example(path: Path) -> None:
    assert problems(path.read_text()) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_the_schema_accepts_every_block(block: str) -> None:
    assert problems(completed(block)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("bbr", "bbr2"), ("100 s", "100"), ("duration", "durration"), ("10 Mbit/s", "10")],
)
def test_the_schema_refuses_mistakes(old: str, new: str) -> None:
    assert problems(BASE) == []
    assert problems(BASE.replace(old, new)) != []


def studies() -> list[Path]:
    return sorted(
        path
        for path in (ROOT / "studies").rglob("*.yaml")
        if path.read_text().lstrip("# \n").find("dumbbell: 1") >= 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", studies(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_experiment_of_a_study_loads(path: Path) -> None:
    found: Any = load_text(path.read_text(), path)
    assert found.cells
