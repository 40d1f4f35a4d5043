"""An experiment as a mapping: the same scenarios as its file, errors with the path of the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import load
from dumbbell.experiment.mapping import written
from dumbbell.experiment.source import parse
from tests.helpers import ROOT

FLOWS: dict[str, Any] = {
    "dumbbell": 1,
    "name": "two flows",
    "template": {"dumbbell": {"rate": "10 Mbit/s", "rtt": "$rtt", "buffer": "1 BDP"}},
    "flows": [{"from": "s1", "to": "d1", "tcp": "cubic"}],
    "duration": "2 s",
    "factors": {"rtt": ["10 ms", "40 ms"]},
}


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples").glob("*.yaml")))
def test_a_mapping_has_the_scenarios_of_its_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples")  # names of other files begin there
    file = Path(f"{name}.yaml")
    contents = YAML(typ="safe").load(file)
    found, expected = load(contents), load(file)
    assert [one.scenario for one in found.cells] == [one.scenario for one in expected.cells]


def test_a_run_has_the_digest_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(written(FLOWS), encoding="utf-8")
    found = dumbbell.run(FLOWS, store=tmp_path / "store")
    assert list(found.runs["digest"]) == list(dumbbell.run(file).runs["digest"])
    again = dumbbell.load_results(tmp_path / "store")
    assert again.experiment.yaml == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"flows": [{"from": "s1", "to": "d1", "tcp": "cubix"}]},
            "<mapping>: flows[0].tcp: unknown congestion control; found cubix; did you mean cubic?",
        ),
        ({"duration": 2}, "<mapping>: duration: a time needs a unit: 2 ms, 2 s or 2 us; found 2"),
        ({"duration": float("nan")}, "<mapping>: duration: not a finite number; found nan"),
        ({"duration": {1: "s"}}, "<mapping>: duration: the name of a field must be text; found 1"),
        ({"seed": object}, "<mapping>: seed: a type has no form in a file; take text or a number"),
        ({"flows": [{"from": "x1", "to": "d1", "tcp": "cubic"}]}, "<mapping>: flows[0].from: "),
        ({"dumbbel": 1}, "<mapping>: dumbbel: unknown field; did you mean dumbbell?"),
    ],
)
def test_an_error_names_the_path_of_the_key(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        dumbbell.run({**FLOWS, **change})
    assert str(caught.value).startswith(message)
    assert caught.value.line is None and "\n" not in str(caught.value)


def test_a_mapping_within_itself_is_refused() -> None:
    inner: dict[str, Any] = {}
    inner["sampling"] = inner
    with pytest.raises(ExperimentError, match="nested more than 40 deep"):
        dumbbell.run({**FLOWS, **inner})


SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9)
WORDS = [
    "true", "null", "~", "1", "1e5", ".5", "10 ms", "${rtt}", "<<", "- a", "a: b", "ä", "#", "nan"
]  # fmt: skip
ASCII = st.characters(codec="ascii", min_codepoint=32, max_codepoint=126)
TEXTS = st.text(ASCII) | st.sampled_from(WORDS)
VALUES = st.recursive(
    SCALARS | TEXTS, lambda one: st.lists(one) | st.dictionaries(TEXTS, one), max_leaves=20
)


@pytest.mark.slow
@given(st.dictionaries(TEXTS, VALUES, min_size=1))
def test_what_is_written_is_read_again(value: dict[str, Any]) -> None:
    assert parse(written(value), "e.yaml").plain() == value
