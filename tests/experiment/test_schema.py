"""The JSON Schema of experiment files: descriptions, and how many mistakes an editor finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML, YAMLError

from dumbbell.catalogue import congestion_controls
from dumbbell.experiment import json_schema
from tests.helpers import ROOT

SCHEMA = json_schema()
BAD = ROOT / "tests" / "bad_files" / "experiments.yaml"


def fields(part: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All properties of a schema, with their places."""
    if isinstance(part, dict):
        for name, below in part.get("properties", {}).items():
            yield f"{place}.{name}", below
        for key, below in part.items():
            if key == "properties" or (key == "$defs" and not place):
                for name, one in below.items():
                    yield from fields(one, f"{place}.{name}")
            else:
                yield from fields(below, place)
    elif isinstance(part, list):
        for below in part:
            yield from fields(below, place)


def test_every_field_has_a_description() -> None:
    found = list(fields(SCHEMA))
    assert len(found) > 700
    assert [place for place, one in found if not one.get("description", "").endswith(".")] == []


def test_names_of_congestion_controls_are_described_by_the_catalogue() -> None:
    (enum, _), *_ = (
        part["anyOf"]
        for part in SCHEMA["$defs"]["TcpSpec"]["properties"]["congestion_control"]["anyOf"]
        if "anyOf" in part
    )
    described = dict(zip(enum["enum"], enum["enumDescriptions"], strict=True))
    cubic = congestion_controls()["cubic"]
    assert described["cubic"].startswith(f"{cubic.title}. {cubic.about[:10]}")


@pytest.mark.slow
def test_the_schema_is_valid_and_its_example_too() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for example in SCHEMA["examples"]:
        jsonschema.validate(example, SCHEMA, jsonschema.Draft202012Validator)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["examples", "studies"])
def test_the_schema_accepts_every_file_of_ours(name: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    seen = 0
    for path in sorted(Path(ROOT / name).rglob("*.yaml")):
        found = YAML(typ="safe").load(path)
        if isinstance(found, dict) and "dumbbell" in found:
            seen += 1
            assert [error.message for error in validator.iter_errors(found)] == [], path
    assert seen > 15


@pytest.mark.slow
def test_an_editor_finds_most_mistakes_that_one_field_shows() -> None:
    """The others need the rest of the file, or other files: `dumbbell validate` finds all."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    entries = YAML(typ="safe").load(BAD)
    missed = []
    for entry in entries:
        try:
            found = YAML(typ="safe").load(entry["text"])
        except (YAMLError, ValueError):
            continue
        if validator.is_valid(found):
            missed.append(entry["name"])
    assert len(missed) <= 0.5 * len(entries)
    assert not {one for one in missed if "misspelt" in one or "unknown field" in one} - {
        "a factor misspelt"
    }
    assert not {"a rate in bytes", "a duration in seconds of Python", "two templates"} & {*missed}
