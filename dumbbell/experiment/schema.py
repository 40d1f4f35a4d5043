"""JSON Schema of experiment files, for editors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib.resources import files
from typing import Any

from dumbbell.catalogue import (
    congestion_controls,
    disciplines,
    tcp_options,
)
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.fields import Strict
from dumbbell.experiment.kinds import KINDS, spec_name

#: Address by which a store of schemas knows this one.
ADDRESS = "https://json.schemastore.org/dumbbell.json"
#: Names of experiment files that editors recognise.
FILE_MATCH = ("*.dumbbell.yaml", "*.dumbbell.yml")

_REFERENCE = {
    "type": "string",
    "pattern": r"\$(\{[^{}]+\}|[A-Za-z_])",
    "title": "Level of a factor",
}
_FIXED = ("dumbbell", "name", "description", "factors", "repeats", "seed", "search")
#: Models with exactly one field.
_CHOICES = (
    "LossSpec", "QueueSpec", "ShaperSpec", "SizeSpec", "SourceSpec", "TemplateSpec", "WorkloadSpec",
)  # fmt: skip
_EXAMPLE = {
    "dumbbell": 1,
    "name": "two flows",
    "template": {"dumbbell": {"pairs": 2, "rate": "10 Mbit/s", "rtt": "$rtt", "buffer": "1 BDP"}},
    "flows": [
        {"name": "cubic", "from": "s1", "to": "d1", "tcp": "cubic"},
        {"name": "bbr", "from": "s2", "to": "d2", "tcp": "bbr", "start": "5 s"},
    ],
    "duration": "30 s",
    "factors": {"rtt": ["10 ms", "40 ms", "80 ms"]},
    "repeats": 10,
}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12). `${factor}` is allowed in place of any value."""
    schema = deepcopy(ExperimentFile.model_json_schema(by_alias=True))
    _describe(schema)
    for name, model in schema.get("$defs", {}).items():
        if name in _CHOICES:
            model |= {"minProperties": 1, "maxProperties": 1}
        if name != "Empty":
            _open(model, ())
    _open(schema, _FIXED)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS,
        "title": "Dumbbell experiment",
        "description": "An experiment with transport protocols, for the laboratory Dumbbell.",
    }
    return {**head, **{key: value for key, value in schema.items() if key not in head}} | {
        "examples": [_EXAMPLE]
    }


def _describe(schema: dict[str, Any]) -> None:
    """Adds the description of each field, and of each congestion control."""
    models = {model.__name__: model for model in _below(Strict)}
    texts = _texts()
    for name, part in {ExperimentFile.__name__: schema, **schema["$defs"]}.items():
        for field, property_ in part.get("properties", {}).items():
            bases = [base.__name__ for base in models[name].__mro__]
            found = [texts[base][field] for base in bases if field in texts.get(base, ())]
            if found:
                property_["description"] = found[0]
            _describe_below(property_, texts.get(f"{name}.{field}", {}))
    _describe_names(schema)


def _describe_below(part: Any, texts: Mapping[str, str]) -> None:
    """Adds descriptions to the fields of mappings that have no model of their own."""
    for below in part.values() if isinstance(part, dict) else part:
        if isinstance(below, dict | list):
            _describe_below(below, texts)
    if isinstance(part, dict):
        for field, property_ in part.get("properties", {}).items():
            if field in texts:
                property_["description"] = texts[field]


def _below(model: type[Strict]) -> Iterator[type[Strict]]:
    for one in model.__subclasses__():
        yield one
        yield from _below(one)


def _texts() -> dict[str, dict[str, str]]:
    """Descriptions of fields by model: those of the catalogue, and those of `descriptions.yaml`."""
    from ruamel.yaml import YAML

    file = files("dumbbell.experiment") / "descriptions.yaml"
    found: dict[str, dict[str, str]] = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    found["OptionFields"] = {
        name: _sentence(one.parameter.about) for name, one in tcp_options().items()
    } | found.get("OptionFields", {})
    for kind in KINDS.values():
        found[spec_name(kind)] = {one.name: _sentence(one.about) for one in kind.written}
    queues = {}
    for name, queue in disciplines().items():
        queues[name] = f"{queue.title}. {_sentence(queue.about)}"
        if queue.parameters:
            parameters = {one.name: _sentence(one.about) for one in queue.parameters}
            found[f"{queue.variant}Spec"] = parameters
    found["QueueSpec"] = queues
    return found


def _sentence(about: str) -> str:
    """Description of the catalogue as plain text."""
    text = about.replace("`", "").strip()
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _describe_names(part: Any) -> None:
    """Adds a description to each name of a congestion control, where an editor completes it."""
    if isinstance(part, dict):
        names = part.get("enum")
        known = congestion_controls()
        if isinstance(names, list) and names and all(name in known for name in names):
            part["enumDescriptions"] = [
                f"{known[name].title}. {_sentence(known[name].about)}" for name in names
            ]
        for below in part.values():
            _describe_names(below)
    elif isinstance(part, list):
        for below in part:
            _describe_names(below)


def _open(model: dict[str, Any], fixed: tuple[str, ...]) -> None:
    """Allows a reference for each property, and for each item of its lists and mappings."""
    for name, prop in model.get("properties", {}).items():
        if name not in fixed:
            for part in prop.get("anyOf", [prop]):
                for below in ("items", "additionalProperties"):
                    if isinstance(part.get(below), dict):
                        part[below] = {"anyOf": [part[below], _REFERENCE]}
            kept = ("default", "title", "description")
            apart = {key: prop.pop(key) for key in kept if key in prop}
            model["properties"][name] = {"anyOf": [dict(prop), _REFERENCE], **apart}
