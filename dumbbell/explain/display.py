"""An explanation as lines for the terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from textwrap import wrap
from typing import Any

from dumbbell.explain.explanation import Explanation, Link
from dumbbell.explain.made_again import Explained
from dumbbell.explain.packets import Packet
from dumbbell.explain.words import moment

#: Narrowest line on which times stand beside sentences.
_BESIDE = 60


def lines(explanation: Explanation, width: int) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it is a heading.

    Args:
        explanation: Chain of causes.
        width: Columns of the terminal.
    """
    times = [moment(link.time_ns) for link in explanation.links]
    column = max((len(time) for time in times), default=0)
    for step, links in groupby(explanation.links, key=lambda link: link.step):
        yield f"{step.value[0].upper()}{step.value[1:]}", True
        for link in links:
            time = moment(link.time_ns)
            if width < _BESIDE:
                yield f"  {time}", False
                yield from ((f"    {line}", False) for line in wrap(link.sentence, width - 4))
                continue
            indent = column + 4
            for number, line in enumerate(wrap(link.sentence, width - indent)):
                yield f"  {time if number == 0 else '':<{column}}  {line}", False


def as_json(explained: Explained) -> str:
    """JSON of an explanation."""
    planned, record = explained.run.planned, explained.run.record
    found: dict[str, Any] = {
        "experiment": record.info.name,
        "levels": dict(planned.levels),
        "repeat": planned.repeat,
        "seed": planned.seed,
        "engine": record.engine,
        "notes": list(explained.notes),
        "flow": explained.explanation.flow,
        "at_ns": explained.explanation.at_ns,
        "links": [_link(link) for link in explained.explanation.links],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _link(link: Link) -> dict[str, Any]:
    return {
        "step": link.step.name.lower(),
        "what": link.what.name.lower(),
        "time_ns": link.time_ns,
        "sentence": link.sentence,
        "packet": None if link.packet is None else _packet(link.packet),
        "place": link.place,
        "state": link.state,
        "numbers": dict(link.numbers),
    }


def _packet(packet: Packet) -> dict[str, Any]:
    found = asdict(packet)
    found["flags"] = sorted(packet.flags)
    found["path"] = [one.pipe for one in packet.path]
    return found
