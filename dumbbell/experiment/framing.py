"""Framing of a link in an experiment file, with tc-cake(8)'s names for common access lines."""

from __future__ import annotations

from typing import Annotated, Any

from dumbbell.experiment.fields import (
    Checked,
    Flag,
    Short,
    Size,
    Strict,
    choice,
    problem,
)
from dumbbell.experiment.units import SIZE, QuantityError, whole

ETHERNET_HEADER_BYTES = 14


def _overhead(value: object) -> int:
    negative = isinstance(value, str) and value.strip().startswith("-")
    text = value.strip()[1:] if negative and isinstance(value, str) else value
    try:
        size = whole(text, SIZE)
    except QuantityError as error:
        allowed = ("24 bytes", "-4 bytes")
        raise problem(error.message, found=value, allowed=allowed, code=error.code) from None
    return -size if negative else size


Overhead = Annotated[
    int, Checked(_overhead, {"type": "string", "examples": ["24 bytes", "-4 bytes"]})
]


class FramingSpec(Strict):
    """Size of frames on the wire.

    `overhead`: bytes beyond the Ethernet frame without FCS. `mpu`: minimum length. `atm`: carried
    in ATM cells.
    """

    overhead: Overhead = 0
    mpu: Size = 0
    atm: Flag = False

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        return {"overhead_bytes": self.overhead, "mpu_bytes": self.mpu, "atm": self.atm}


#: Name → bytes around the IP packet, minimum length in bytes, carried in ATM cells (tc-cake(8),
#: `overhead` keywords; `pppoe`: Ethernet with the 8 bytes of RFC 2516).
KNOWN: dict[str, tuple[int, int, bool]] = {
    "ethernet": (38, 84, False),
    "ether-vlan": (42, 84, False),
    "pppoe": (46, 84, False),
    "docsis": (18, 64, False),
    "ipoa-vcmux": (8, 0, True),
    "ipoa-llcsnap": (16, 0, True),
    "bridged-vcmux": (24, 0, True),
    "bridged-llcsnap": (32, 0, True),
    "pppoa-vcmux": (10, 0, True),
    "pppoa-llc": (14, 0, True),
    "pppoe-vcmux": (32, 0, True),
    "pppoe-llcsnap": (40, 0, True),
}


def _named(value: Any) -> Any:
    if value == "none":
        return {}
    if not isinstance(value, str):
        return value
    choice(*KNOWN, "none", what="framing").read(value)
    around, mpu, atm = KNOWN[value]
    overhead = around - ETHERNET_HEADER_BYTES
    return {"overhead": f"{overhead} bytes", "mpu": f"{mpu} bytes", "atm": atm}


Framing = Annotated[FramingSpec, Short(_named, {"type": "string", "enum": [*KNOWN, "none"]})]
