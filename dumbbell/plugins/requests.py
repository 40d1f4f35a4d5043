"""What is asked of a worker process, and what it answers."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from pathlib import Path

from dumbbell.plugins.declare import Declared
from dumbbell.runs import RunResult


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks for the facts of a plug-in's file."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Asks for a run.

    Attributes:
        scenario: Scenario as canonical JSON.
        seed: Its seed.
        plugins: SHA-256 → file and name of each plug-in.
        page: File that tells where the run is; see `dumbbell.plugins.page`.
    """

    scenario: str
    seed: int
    plugins: dict[str, tuple[Path, str]]
    page: Path


@dataclass(frozen=True, slots=True)
class Refused:
    """A plug-in cannot be used, or failed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """The scenario cannot be run: the error's path and message."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Defect:
    """The simulator broke off."""

    message: str


#: Messages begin with their length in bytes.
LENGTH = struct.Struct("<Q")


def framed(message: object) -> bytes:
    """A message with its length in front."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def message_end(data: bytearray) -> int | None:
    """Length of a message with its front; None: it is not there yet."""
    if len(data) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack_from(data)
    return LENGTH.size + int(length)


Request = Probe | Execute
Reply = Declared | RunResult | Refused | Unfit | Defect
