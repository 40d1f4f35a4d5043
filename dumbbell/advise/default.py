"""HTB without a default class: what no filter names passes unshaped."""

from __future__ import annotations

from dumbbell.advise.advice import Advice, mbps
from dumbbell.advise.case import Case

#: Fields of the interface itself, which a class replaces.
_OWN = ("rate", "buffer", "queue", "delay")


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    direct, flow = case.direct.get(pipe), case.flow_of(pipe)
    if direct is None or direct.pipe is None or flow is None:
        return None
    fields = {**dict.fromkeys(_OWN), **direct.pipe.fields}
    mended = case.again(pipe, fields)
    if mended is None or not mended.value("goodput_mbps", flow) < case.value("goodput_mbps", flow):
        return None
    why = f"has default {direct.default}, a class that is not there"
    return Advice(
        "default",
        pipe,
        f"htb {why if direct.default else 'has no default class'}, and no filter names one: "
        "packets pass unshaped",
        f"{mbps(case, flow)} pass; with default {direct.leaf}: {mbps(mended, flow)}",
        f"htb default {direct.leaf}",
    )
