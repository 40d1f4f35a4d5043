"""YAML that nobody vouches for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.experiment import load
from dumbbell.experiment.source import MAX_BYTES, parse, read
from tests.helpers import BASE


def refusal(text: str) -> str:
    with pytest.raises(ExperimentError) as raised:
        parse(text, "e.yaml")
    return str(raised.value)


BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 10)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "e.yaml:1: the file is empty"),
        ("# nothing\n", "e.yaml:1: the file is empty"),
        (BOMB, "e.yaml:5: more than 100000 values, aliases expanded"),
        ("a: &a [*a]", "e.yaml:1: *a lies within what it refers to"),
        ("a: *b", "e.yaml:1: *b refers to nothing"),
        ("a: 1\nb: 2\na: 3", "e.yaml:3: a is given twice, first in line 1"),
        ("a: .nan", "e.yaml:1: not a finite number; found .nan"),
        ("a: -.inf", "e.yaml:1: not a finite number; found -.inf"),
        ("a: 1e999", "e.yaml:1: a number too large; found 1e999"),
        ("a: !!python/name:os.system x", None),
        ("--- 1\n--- 2", "e.yaml:2: a second document begins; one file holds one experiment"),
        ("? [a]\n: 1", "e.yaml:1: the name of a field must be plain text"),
        ("a: b: c", "e.yaml:1: not YAML: mapping values are not allowed here"),
        ("a: [1", None),
        ("a: {b: ${c}}", None),
        ("\tb: 1", None),
        ("a: \x00", None),
        ("<<: 1", "e.yaml:1: << takes a mapping"),
    ],
)
def test_what_is_refused(text: str, expected: str | None) -> None:
    found = refusal(text)
    assert expected is None or found == expected


def test_an_unquoted_reference_between_braces_is_explained() -> None:
    assert 'write "${name}" in quotes, or $name' in refusal("a: {b: ${c}}")


def test_depth_is_bounded() -> None:
    assert refusal("a: " + "[" * 100_000) == "e.yaml:1: nested more than 40 deep"


@pytest.mark.slow
def test_work_is_bounded() -> None:
    begin = time.monotonic()
    refusal("a: [" + "1," * 500_000 + "]")
    refusal("a: " + "{" * 500_000)
    refusal("a: " + "'" * 999_999)
    refusal("&a " * 300_000)
    assert time.monotonic() - begin < 60


def test_files_are_bounded_and_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    for data, expected in [
        (b"x" * (MAX_BYTES + 1), f"{path}: larger than {MAX_BYTES} bytes"),
        (b"a: 1\nb: \xff", f"{path}:2: not UTF-8 text"),
    ]:
        path.write_bytes(data)
        with pytest.raises(ExperimentError) as raised:
            read(path)
        assert str(raised.value) == expected
    with pytest.raises(ExperimentError, match="No such file"):
        read(tmp_path / "none.yaml")
    with pytest.raises(ExperimentError, match="Is a directory"):
        read(tmp_path)


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = "{a: 1, b: 1.5, c: true, d: null, e: yes, f: '1', g: 0o7, h: 12:30, i: 1e3, j: -7}"
    assert parse(text, "").plain() == {
        "a": 1, "b": 1.5, "c": True, "d": None, "e": "yes", "f": "1", "g": "0o7", "h": "12:30",
        "i": 1000.0, "j": -7,
    }  # fmt: skip


def test_anchors_and_merge_keys() -> None:
    root = parse("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a", "")
    assert root.plain() == {"a": {"x": 1, "y": 2}, "b": {"y": 3, "x": 1}, "c": {"x": 1, "y": 2}}


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ab:-[]{},&*!|>'\"#%@?\n \t$~1.")), max_size=60))
def test_any_text_is_a_tree_or_an_error(text: str) -> None:
    try:
        parse(text, "e.yaml")
    except ExperimentError as error:
        assert str(error).startswith("e.yaml")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_experiment_gives_an_error_or_loads(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = bytearray(BASE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 6))] = data.draw(st.binary(max_size=3))
        if not raw:
            raw = bytearray(b" ")
    path = tmp_path_factory.getbasetemp() / "damaged.yaml"
    path.write_bytes(raw)
    try:
        load(path)
    except ExperimentError as error:
        assert str(error)
