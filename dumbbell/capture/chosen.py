"""Selection of the conversations of one host or port."""

from __future__ import annotations

import ipaddress
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, shortened


def chosen(found: dict[str, Any], host: str | None, port: int | None) -> dict[str, Any]:
    """Result of `survey` with the rows of one host and port: connections, pings and so on.

    Totals, lengths and rates remain those of the file.

    Raises:
        DumbbellError: The host is not an address.
    """
    if host is None and port is None:
        return found
    if host is not None:
        try:
            host = str(ipaddress.ip_address(host))
        except ValueError:
            raise DumbbellError(
                f"--host {shortened(host)}: no address; allowed: 10.0.0.1, 2001:db8::1",
                code=Code.SELECTION,
            ) from None

    def is_wanted(row: dict[str, Any], one: str, other: str) -> bool:
        """Returns true if one endpoint in these columns has the host and the port."""
        hosts = (row[one.format("address")], row[other.format("address")])
        ports = (row.get(one.format("port")), row.get(other.format("port")))
        return (host is None or host in hosts) and (port is None or port in ports)

    return {
        **found,
        "conversations": [r for r in found["conversations"] if is_wanted(r, "{}_a", "{}_b")],
        "connections": [r for r in found["connections"] if is_wanted(r, "from_{}", "to_{}")],
        "pings": [r for r in found["pings"] if is_wanted(r, "from_{}", "to_{}")],
        "icmp": [r for r in found["icmp"] if is_wanted(r, "quoted_from_{}", "quoted_to_{}")],
    }
