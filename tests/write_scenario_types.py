"""Writes dumbbell/scenario.py, the types of scenarios: `python -m tests.write_scenario_types`.

Reads from crates/model what serde reads: structs and enums that derive `Deserialize`. What is not
written out there is `Any`: queues, whose variants come from the catalogue.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "dumbbell" / "scenario.py"
MODEL = ROOT / "crates" / "model" / "src"
FILES = (
    "scenario",
    "arrivals",
    "multipath",
    "programs",
    "requests",
    "session",
    "tcp_options",
    "writer",
)
#: Kinds of traffic: a file and a variant for each entry of the catalogue.
TRAFFIC = re.compile(r"^ {12}(\w+) (\w+) [\w<>]+ \{$", re.MULTILINE)
#: Types of Rust that are plain in JSON.
PLAIN = {"String": "str", "bool": "bool", "f64": "float", "Span": "int", "Rate": "int"}
PLAIN |= {f"{sign}{bits}": "int" for sign in "ui" for bits in (8, 16, 32, 64)}
PLAIN["Algorithm"] = "str"
ITEM = re.compile(
    r"((?:^///[^\n]*\n)*)^#\[derive\([^)]*Deserialize\)\]\n(?:#\[[^\n]*\]\n)*"
    r"^pub (struct|enum) (\w+) \{\n(.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
FIELD = re.compile(
    r"(?:#\[serde\(([^\]]*)\)\]\s*)?(?:pub )?(\w+): (\w[\w:]*(?:<[\w<>:]+>)?|\[\w+; \d+\]|[^,]+),"
)
VARIANT = re.compile(
    r"^ {4}(\w+)(?:\((\w+(?:<\w+>)?)\)| \{(.*?)^ {4}\})?,\n", re.MULTILINE | re.DOTALL
)
HEAD = '''# ruff: noqa: E501
"""Types of a scenario, as its JSON has them.

Written by `python -m tests.write_scenario_types` from crates/model.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal, NotRequired, TypedDict


def read_scenario(text: str) -> Scenario:
    """A scenario from its JSON, which was checked when it was built."""
    found: Scenario = json.loads(text)
    return found


@lru_cache(maxsize=8)
def shared_scenario(text: str) -> Scenario:
    """As `read_scenario`, read once for all who ask: nobody may change it."""
    return read_scenario(text)


def shaper_of(pipe: Pipe) -> ShaperOf:
    """The shaper of a direction of a link; empty where nothing shapes."""
    shaper = pipe["shaper"]
    return {} if shaper == "none" else shaper
'''


@dataclass(frozen=True)
class Item:
    """A struct or enum of the model, with its comments removed from the body."""

    name: str
    kind: str
    about: str
    body: str


def items() -> list[Item]:
    listed = TRAFFIC.findall((MODEL / "catalogue" / "traffic.rs").read_text(encoding="utf-8"))
    variants = "".join(f"    {variant}({variant}),\n" for variant, _ in listed)
    found = [Item("Traffic", "enum", "What a flow carries.", variants)]
    for file in (*FILES, *(f"traffic/{module}" for _, module in listed)):
        source = (MODEL / f"{file}.rs").read_text(encoding="utf-8")
        for match in ITEM.finditer(source):
            about = " ".join(line.removeprefix("///").strip() for line in match[1].splitlines())
            about = re.split(r"(?<=[.:]) (?=[A-Z])", about)[0]
            body = re.sub(r"^\s*//.*\n", "", match[4], flags=re.MULTILINE)
            found.append(Item(match[3], match[2], about, body))
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def written(rust: str, known: set[str]) -> str:
    """A type of Rust in Python."""
    rust = rust.strip()
    rust = re.sub(r"^\[(\w+); \d+\]$", r"Vec<\1>", rust)
    outer = re.fullmatch(r"(Option|Vec|Box)<(.+)>", rust)
    if outer is None:
        name = rust.split("::")[-1]
        return PLAIN.get(name) or (name if name in known else "Any")
    inner = written(outer[2], known)
    if outer[1] == "Box":
        return inner
    if outer[1] == "Vec":
        return f"list[{inner}]"
    return inner if inner == "Any" else f"{inner} | None"


def fields(body: str, known: set[str]) -> dict[str, str]:
    found = {}
    for serde, name, rust in FIELD.findall(body):
        renamed = re.search(r'rename = "(\w+)"', serde)
        kind = written(rust, known)
        found[renamed[1] if renamed else name] = (
            f"NotRequired[{kind}]" if "default" in serde else kind
        )
    return found


def typed_dict(name: str, about: str, keys: dict[str, str], total: bool = True) -> str:
    if "from" in keys:  # no name of a field in Python
        inside = "".join(f'        "{key}": {kind!r},\n' for key, kind in keys.items())
        inside = inside.replace("'", '"')
        return f'\n#: {about}\n{name} = TypedDict(\n    "{name}",\n    {{\n{inside}    }},\n)\n'
    end = "" if total else ", total=False"
    inside = "".join(f"    {key}: {kind}\n" for key, kind in keys.items())
    return f'\n\nclass {name}(TypedDict{end}):\n    """{about}"""\n\n{inside}'


def enum(item: Item, known: set[str]) -> str:
    plain, parts, keys = [], [], {}
    for name, inner, body in VARIANT.findall(re.sub(r"^ {4}#\[.*\]\n", "", item.body, flags=re.M)):
        if inner:
            keys[snake(name)] = written(inner, known)
        elif body:
            keys[snake(name)] = f"{item.name}{name}"
            parts.append(typed_dict(f"{item.name}{name}", f"`{snake(name)}`.", fields(body, known)))
        else:
            plain.append(snake(name))
    literal = f"Literal[{', '.join(map(repr, plain))}]".replace("'", '"')
    if not keys:
        return f"\n#: {item.about}\n{item.name} = {literal}\n"
    one = f"{item.name}Of" if plain else item.name
    parts.append(typed_dict(one, item.about + " One of these keys.", keys, total=False))
    union = f"\n\n#: {item.about}\n{item.name} = {literal} | {one}\n" if plain else ""
    return "".join(parts) + union


def order(found: list[Item]) -> list[Item]:
    """Enumerations are values, and values that name others come after them."""
    rank = {item.name: place for place, item in enumerate(found)}
    return sorted(found, key=lambda item: (item.kind == "struct", rank[item.name]))


def module() -> str:
    """The module's text, formatted."""
    found = items()
    known = {item.name for item in found}
    parts = [
        enum(item, known)
        if item.kind == "enum"
        else typed_dict(item.name, item.about, fields(item.body, known))
        for item in order(found)
    ]
    text = HEAD + "".join(parts)
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
