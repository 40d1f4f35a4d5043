"""JSON Schema of experiment files, for editors."""

from __future__ import annotations

from typing import Any

from dumbbell.experiment.document import ExperimentFile

_REFERENCE = {
    "type": "string",
    "pattern": r"\$(\{[^{}]+\}|[A-Za-z_])",
    "title": "Level of a factor",
}
_FIXED = ("dumbbell", "name", "description", "factors", "repeats", "seed", "search")


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12). `${factor}` is allowed in place of any value."""
    schema = ExperimentFile.model_json_schema(by_alias=True)
    for name, model in schema.get("$defs", {}).items():
        if name != "Empty":
            _open(model, ())
    _open(schema, _FIXED)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Dumbbell experiment"
    return schema


def _open(model: dict[str, Any], fixed: tuple[str, ...]) -> None:
    """Allows a reference for each property, and for each item of its lists and mappings."""
    for name, prop in model.get("properties", {}).items():
        if name not in fixed:
            for part in prop.get("anyOf", [prop]):
                for below in ("items", "additionalProperties"):
                    if isinstance(part.get(below), dict):
                        part[below] = {"anyOf": [part[below], _REFERENCE]}
            default = {key: prop.pop(key) for key in ("default", "title") if key in prop}
            model["properties"][name] = {"anyOf": [dict(prop), _REFERENCE], **default}
