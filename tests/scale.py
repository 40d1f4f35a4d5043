"""How much is tried: less in `make test`, all in `make test-all`, more with `DUMBBELL_SCALE=20`."""

from __future__ import annotations

import os

#: Set by `make test-all`: all seeds, cells and steps of long comparisons.
ALL = os.environ.get("DUMBBELL_ALL") == "1"
#: 1 in `make test`; more by night.
SCALE = max(1, int(os.environ.get("DUMBBELL_SCALE", "1")))


def tried(few: int, every: int) -> int:
    """Number of trials: `few` in `make test`, `every` in `make test-all`."""
    return every if ALL else few
