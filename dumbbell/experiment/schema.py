"""JSON Schema of experiment files, for editors."""

from __future__ import annotations

from typing import Any

import orjson

from dumbbell import _core

#: Address by which a store of schemas knows this one.
ADDRESS = "https://json.schemastore.org/dumbbell.json"
#: Names of experiment files that editors recognise.
FILE_MATCH = ("*.dumbbell.yaml", "*.dumbbell.yml")


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12). `${factor}` is allowed in place of any value."""
    from dumbbell.metrics import METRICS, RENAMED

    found: dict[str, Any] = orjson.loads(_core.experiment_schema(sorted({*METRICS, *RENAMED})))
    return found
