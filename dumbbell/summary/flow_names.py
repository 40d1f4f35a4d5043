"""What flows are called where people read: by what they are, if nobody gave them a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dumbbell.catalogue import congestion_controls

#: Names of congestion controls of other stacks that Linux does not have.
NAMES = {"new_reno": "NewReno"}
#: Names that the reader of experiments gives.
_GIVEN = re.compile(r"flow\d+")
_KINDS = {"udp": "UDP", "ping": "ping"}


def algorithm(row: Mapping[str, Any]) -> str:
    """Algorithm, or kind, of a row of `flows`: `CUBIC`, `UDP`."""
    stack, _, name = str(row["congestion_control"]).rpartition(":")
    if not name:
        return _KINDS.get(row["kind"], str(row["kind"]))
    known = congestion_controls()
    title = known[name].title if name in known else NAMES.get(name, name)
    return f"{stack} {title}" if stack else title


def flow_title(row: Mapping[str, Any]) -> str:
    """Words for a row of `flows`: `CUBIC s1→d1`, or its own name with its algorithm."""
    name, kind = str(row["flow"]), algorithm(row)
    if _GIVEN.fullmatch(name):
        return f"{kind} {row['from_host']}→{row['to_host']}"
    squeezed = re.sub(r"[^a-z0-9]", "", kind.lower())
    return name if squeezed in re.sub(r"[^a-z0-9]", "", name.lower()) else f"{name} ({kind})"


def stem(name: str) -> str:
    """A flow's name without the number at its end."""
    return re.sub(r"\d+$", "", name)


def fold_title(row: Mapping[str, Any], count: int) -> str:
    """Words for `count` flows that differ from this one by number alone: `4 × up (CUBIC)`."""
    kind, shared = algorithm(row), stem(row["flow"]).rstrip("-_./ ")
    return f"{count} × {kind}" if shared in ("flow", "") else f"{count} × {shared} ({kind})"
