"""File through which a worker tells where its run is; `crates/plugins/src/page.rs` writes it."""

from __future__ import annotations

import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

_LAYOUT = struct.Struct("=QII")


@dataclass(frozen=True, slots=True)
class Where:
    """Place of a run.

    Attributes:
        at_ns: Virtual time, ns.
        inside: True inside of a plug-in's hook.
        flow: Number of the flow among those with plug-ins, in the order in which they begin.
    """

    at_ns: int
    inside: bool
    flow: int


class Page:
    """A page of a run, removed at the end."""

    def __init__(self) -> None:
        handle, path = tempfile.mkstemp(prefix="dumbbell-page-")
        with os.fdopen(handle, "wb") as file:
            file.write(bytes(_LAYOUT.size))
        self.path = Path(path)

    def read(self) -> Where:
        """Where the run is now."""
        at_ns, inside, flow = _LAYOUT.unpack(self.path.read_bytes())
        return Where(at_ns, bool(inside), flow)

    def clear(self) -> None:
        """Forgets the last run."""
        with self.path.open("r+b") as file:
            file.write(bytes(_LAYOUT.size))

    def remove(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)
