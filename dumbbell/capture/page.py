"""Page about captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dumbbell.capture import packets
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.face.page import application, json_data
from dumbbell.files.output import json_text

#: Scripts of the page, in order.
_SCRIPTS = (
    "elements",
    "overview",
    "conversations",
    "packets",
    "sequence",
    "ladder",
    "connection",
    "main",
)
#: Maximum packets of all connections on a page, without a selection of connections.
PACKETS_MAX = 60_000
#: Maximum connections with packets on a page, without a selection of connections.
CONNECTIONS_MAX = 20


def page(captures: Sequence[dict[str, Any]], connections: Sequence[int] = ()) -> str:
    """Page of captures.

    Args:
        captures: Results of `survey`. Their files are read once more, for packets.
        connections: Numbers of the connections with packets; none: the largest of each file.

    Raises:
        DumbbellError: A capture came from standard input, or has no such connection.
    """
    data = [{**found, "packets": _packets(found, connections)} for found in captures]
    return application(
        ", ".join(found["file"]["name"] for found in captures),
        "Dumbbell capture",
        package="dumbbell.capture",
        scripts=_SCRIPTS,
        data=[json_data("data", json_text(data))],
    )


def _packets(found: dict[str, Any], connections: Sequence[int]) -> dict[str, Any]:
    name = found["file"]["name"]
    if name == "-":
        raise DumbbellError(
            "a page needs the packets once more: give a file, not standard input",
            code=Code.EXCLUSIVE,
        )
    sizes: dict[int, int] = {}
    for row in found["connections"]:
        sizes[row["connection"]] = sizes.get(row["connection"], 0) + row["packets"]
    for one in connections:
        if one not in sizes:
            known = ", ".join(map(str, list(sizes)[:20])) or "none"
            more = ", …" if len(sizes) > 20 else ""
            raise DumbbellError(
                f"{name}: --connection {one}: there are {known}{more}", code=Code.SELECTION
            )
    wanted = list(connections) or sorted(sizes, key=lambda one: -sizes[one])[:CONNECTIONS_MAX]
    if not wanted:
        return {"frame": [], "packets_of_connections": {}}
    file = found["file"]
    window = (file["window_from_ns"], file["window_to_ns"])
    most = PACKETS_MAX // len(wanted) if not connections else PACKETS_MAX
    return packets(name, wanted, most, window)
