"""Writes `tests/experiment/format-1.json`: the fields and names of format 1 of experiment files.

Fields and names are only added. One that is no longer in the schema stays in the file, and
`tests/experiment/test_format.py` fails.
"""

from __future__ import annotations

import json
from typing import Any

from dumbbell.experiment import json_schema
from tests.helpers import ROOT

FILE = ROOT / "tests" / "experiment" / "format-1.json"
Format = dict[str, dict[str, list[str]]]


def of_schema() -> Format:
    """Fields of each model, and names that each of its fields takes."""
    schema = json_schema()
    models = {"ExperimentFile": schema, **schema["$defs"]}
    fields = {name: sorted(one.get("properties", {})) for name, one in models.items()}
    names = {
        f"{name}.{field}": sorted(_names(property_))
        for name, one in models.items()
        for field, property_ in one.get("properties", {}).items()
    }
    return {
        "fields": {name: found for name, found in fields.items() if found},
        "names": {name: found for name, found in names.items() if found},
    }


def _names(part: Any) -> set[str]:
    if isinstance(part, list):
        return set[str]().union(*map(_names, part))
    if not isinstance(part, dict):
        return set()
    own = {one for one in part.get("enum", []) if isinstance(one, str)}
    below = (value for key, value in part.items() if key not in ("enum", "examples", "properties"))
    return own.union(*map(_names, below))


def kept() -> Format:
    """Those of the file."""
    found: Format = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def together(old: Format, new: Format) -> Format:
    """Everything that is in either."""
    return {
        kind: {
            name: sorted({*old.get(kind, {}).get(name, []), *new[kind].get(name, [])})
            for name in sorted({*old.get(kind, {}), *new[kind]})
        }
        for kind in new
    }


if __name__ == "__main__":
    text = json.dumps(together(kept(), of_schema()), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
