"""Writes dumbbell/sections/fields.py from the JSON Schema: `python -m tests.write_sections`."""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.experiment import json_schema

TARGET = Path(__file__).resolve().parents[1] / "dumbbell" / "sections" / "fields.py"
HEAD = '''# ruff: noqa: E501
"""Sections of experiment files. Written by `python -m tests.write_sections` from the JSON Schema.

Quantities are texts with a unit, as "20 Mbit/s". Every field may have a level of a factor, "$name".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dumbbell.sections.base import Section
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
#: Fewest fields that a section inherits.
LEAST = 5
#: Order of the kinds in an annotation.
ORDER = ("str", "bool", "int", "float")


@dataclass
class Kind:
    """Annotation of a field: the words of a union."""

    words: set[str] = field(default_factory=set)

    def text(self) -> str:
        """The annotation."""
        plain = [one for one in ORDER if one in self.words]
        if "float" in plain and "int" in plain:  # an int is a float for type checkers
            plain.remove("int")
        others = sorted(self.words - set(ORDER))
        return " | ".join([*plain, *others]) or "Any"


def section_name(name: str) -> str:
    """Name of a section's class."""
    return name.removesuffix("Spec")


def kind_of(schema: dict[str, Any]) -> Kind:
    """Kind of the values that a schema allows."""
    found = Kind()
    _add(schema, found)
    return found


def _add(schema: dict[str, Any], to: Kind) -> None:
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        _add(one, to)
    if "$ref" in schema:
        name = section_name(schema["$ref"].rpartition("/")[2])
        to.words.add(name)
    for value in (*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())):
        to.words.add(type(value).__name__)
    kinds = schema.get("type", ())
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        _add_type(kind, schema, to)


def _add_type(kind: str, schema: dict[str, Any], to: Kind) -> None:
    if kind in PLAIN:
        to.words.add(PLAIN[kind])
    elif kind == "array":
        inner = kind_of(schema.get("items", {}))
        to.words.add(f"Sequence[{inner.text()}]")
    elif kind == "object":
        _add_object(schema, to)


def _add_object(schema: dict[str, Any], to: Kind) -> None:
    more = schema.get("additionalProperties", True)
    kinds = [*schema.get("properties", {}).values(), *([more] if isinstance(more, dict) else [])]
    inner = Kind()
    for one in kinds:
        _add(one, inner)
    to.words.add(f"Mapping[str, {inner.text()}]")


def attribute(name: str) -> str:
    """Name of a field in Python."""
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def fields(schema: dict[str, Any]) -> dict[str, str]:
    """Fields of a section with their annotations and defaults."""
    required = schema.get("required", ())
    return {
        name: kind_of(about).text() + ("" if name in required else " | None = None")
        for name, about in schema["properties"].items()
    }


def section(name: str, base: str, own: dict[str, str], about: str) -> str:
    """The class of a section. `own`: fields that its base lacks."""
    lines = [f"class {name}({base}):", f'    """{about}"""\n']
    if names := {attribute(one): one for one in own if attribute(one) != one}:
        lines.append(f"    _names: ClassVar[dict[str, str]] = {names!r}")
    return "\n".join([*lines, *(f"    {attribute(one)}: {kind}" for one, kind in own.items())])


def sections(schemas: dict[str, dict[str, Any]]) -> list[str]:
    """Classes of sections. One that begins with all fields of another one inherits them."""
    every = {name: list(fields(about).items()) for name, about in schemas.items()}
    found = []
    for name, own in sorted(every.items(), key=lambda one: len(one[1])):
        lengths = {one: len(of) for one, of in every.items() if of == own[: len(of)]}
        shorter = [one for one, length in lengths.items() if LEAST <= length < len(own)]
        base = max(shorter, key=lambda one: lengths[one], default="Section")
        rest = own[len(every.get(base, ())) :]
        found.append(section(name, base, dict(rest), schemas[name]["description"]))
    return found


def text() -> str:
    """Text of the module."""
    schema = json_schema()
    root = schema | {"description": "Fields of an experiment file."}
    root["properties"] = {
        name: {"type": "integer"} if name == "dumbbell" else about
        for name, about in root["properties"].items()
    }
    root["required"] = [one for one in root["required"] if one != "dumbbell"]
    defined = {section_name(name): about for name, about in schema["$defs"].items()}
    classes = sections({**defined, "Fields": root})
    classes = [one.replace("dumbbell: int | None = None", "dumbbell: int = 1") for one in classes]
    names = sorted(section_name(name) for name in schema["$defs"])
    words = textwrap.fill(", ".join(f'"{one}"' for one in names) + ",", 96)
    listed = f"__all__ = [\n{textwrap.indent(words, '    ')}\n]  # fmt: skip"
    return "\n\n\n".join([HEAD + listed, *classes]) + "\n"


def formatted(source: str) -> str:
    """The text in the agreed format."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    TARGET.write_text(formatted(text()), encoding="utf-8")
