"""How much is tried: `DUMBBELL_SCALE=20 make test` tries twenty times as much as usual."""

from __future__ import annotations

import os

#: 1 in `make test`; more by night.
SCALE = max(1, int(os.environ.get("DUMBBELL_SCALE", "1")))
