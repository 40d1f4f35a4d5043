"""Captures of an experiment as files named by run: one file per run, or one per tap."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, StoreError
from dumbbell.experiment import Experiment
from dumbbell.files.names import distinct, run_words
from dumbbell.files.output import write_output
from dumbbell.results import Results
from dumbbell.scenario import read_scenario
from dumbbell.store import Store

#: Block types (draft-ietf-opsawg-pcapng).
_INTERFACE, _PACKET = 1, 6
_LEAST_BLOCK = 12
_NAME = 2


def write_captures(
    store: Store, results: Results, folder: str | Path, *, per_tap: bool = False
) -> list[Path]:
    """Writes the captures of an experiment to `<levels>-<repeat>.pcapng` in a folder.

    `per_tap`: a file per tap, `<levels>-<repeat>-<tap>.pcapng`, as from a tcpdump per interface.

    Returns the files; none if the experiment asks for no capture (`sampling: {capture: true}`).
    Raises `OutputError` if a file cannot be written, `StoreError` if a capture is damaged.
    """
    words: dict[tuple[str, str | None], list[str]] = {}
    for row in results.runs.iter_rows(named=True):
        taps = (
            [tap["name"] for tap in read_scenario(row["scenario"])["taps"]] if per_tap else [None]
        )
        for tap in taps:
            own = [] if tap is None else [tap]
            words[row["run"], tap] = [*run_words(results.experiment, row), *own]
    names = distinct(words, ".pcapng")
    written = []
    for run in results.runs["run"]:
        kept = store.capture(run)
        if kept is None:
            continue
        parts: Mapping[str | None, bytes]
        try:
            whole = kept.read_bytes()
            parts = split_by_tap(whole) if per_tap else {None: whole}
            paths = {tap: Path(folder) / names[run, tap] for tap in parts}
        except OSError as error:
            raise StoreError(
                f"{kept}: cannot be read: {error.strerror or error}", code=Code.STORE_ACCESS
            ) from None
        except (struct.error, LookupError, ValueError):
            raise StoreError(
                f"{kept}: damaged: no whole capture of this run's taps", code=Code.DAMAGED
            ) from None
        for tap, content in parts.items():
            path = paths[tap]
            write_output(path, content)
            written.append(path)
    return written


def check_captured(experiment: Experiment, path: str | Path) -> None:
    """Raises `ExperimentError` if the experiment asks for no capture."""
    if not any(
        read_scenario(cell.scenario)["sampling"].get("capture") for cell in experiment.cells
    ):
        raise ExperimentError(
            f"{path}: captures are wanted, but the experiment makes none: it needs"
            " `sampling: {capture: true}` and taps",
            code=Code.SAMPLING,
        )


def split_by_tap(capture: bytes) -> dict[str | None, bytes]:
    """Splits a capture of ours (one section, little-endian) into a capture per tap.

    Raises `struct.error`, `LookupError` or `ValueError` if it is damaged.
    """
    first = b""
    names: list[str] = []
    parts: list[list[bytes]] = []
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        block = capture[at : at + length]
        if length < _LEAST_BLOCK or len(block) < length:
            raise ValueError(f"a block of {length} bytes at byte {at}")
        at += length
        if kind == _INTERFACE:
            code, size = struct.unpack_from("<HH", block, 16)
            names.append(block[20 : 20 + size].decode() if code == _NAME else str(len(names)))
            parts.append([first, block])
        elif kind == _PACKET:
            (interface,) = struct.unpack_from("<I", block, 8)
            parts[interface].append(block[:8] + struct.pack("<I", 0) + block[12:])
        else:
            first += block
    return {name: b"".join(part) for name, part in zip(names, parts, strict=True)}
