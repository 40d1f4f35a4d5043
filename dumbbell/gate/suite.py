"""Suites: experiment files in which `subject` stands for what is under test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.experiment.load import load_text
from dumbbell.experiment.source import read
from dumbbell.gate.queues import has_queue
from dumbbell.gate.sides import INCUMBENT, SUBJECT, has_sender, sender_of
from dumbbell.plugins.kept import KINDS

#: The sender under test, and the one beside it, in the text of a file.
_SENDER = re.compile(rf"(\b(?:m?p?tcp|congestion_control):\s*)(?:{SUBJECT}|{INCUMBENT})\b")
#: The queue discipline under test.
_QUEUE = re.compile(rf"(\bqueue:\s*\{{\s*){SUBJECT}\b")
_FOLDER = Path(__file__).parent / "suites"


def names() -> list[str]:
    """Names of the suites that are here."""
    return sorted(one.name for one in _FOLDER.iterdir() if one.is_dir())


def read_suite(given: str) -> dict[str, dict[str, Any]]:
    """Contents of the experiments of a suite, by name of their file.

    Args:
        given: Name of a suite, an experiment file, or a folder of such files.

    Raises:
        DumbbellError: There is no such suite, or nothing is under test in an experiment.
    """
    found = {path.stem: _contents(path) for path in _files(given)}
    for name, contents in found.items():
        if not has_sender(contents, SUBJECT) and not has_queue(contents):
            raise DumbbellError(
                f"{name}: no flow has `tcp: {SUBJECT}`: it stands for the congestion control under "
                "test",
                code=Code.GATE,
            )
    return found


def subjects(contents: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the flows with the sender under test; `*` stands for numbers."""
    found = filter(_is_subject, contents.get("flows") or [])
    return tuple(re.sub(r"\{[^}]*\}", "*", str(one.get("name", "flow*"))) for one in found)


def is_one_of(flow: str, names: Sequence[str]) -> bool:
    """True if the name of a flow is one of :func:`subjects`."""
    return any(fnmatchcase(flow, name) for name in names)


def needs_linux_tcp(contents: Mapping[str, Any]) -> bool:
    """True if flows of the sender under test arrive, or are subflows of Multipath TCP."""
    arrives = any(map(_is_subject, contents.get("arrivals") or []))
    return arrives or has_sender(contents, SUBJECT, "mptcp")


def _is_subject(flow: object) -> bool:
    return sender_of(flow)[1].get("congestion_control") == SUBJECT


def _files(given: str) -> Iterator[Path]:
    path = _FOLDER / given if given in names() else Path(given)
    if path.is_file():
        yield path
        return
    files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")], key=_order) if path.is_dir() else []
    if not files:
        near = nearest_name(given, names())
        hint = did_you_mean(near)
        raise DumbbellError(
            f"no suite {shortened(given)}{hint}; there is {', '.join(names())}, or name an "
            "experiment file or a folder of them",
            code=Code.GATE,
        )
    yield from files


def _order(path: Path) -> list[tuple[int, str]]:
    """Order of files: 7.9 precedes 7.11."""
    return [(int(one), "") if one.isdigit() else (-1, one) for one in re.split(r"(\d+)", path.name)]


def _contents(path: Path) -> dict[str, Any]:
    """Plain contents of an experiment file, whose other files have whole paths.

    Raises `ExperimentError`, with the line.
    """
    text = read(path)
    # What is wrong is said with its line: with what every side can stand for.
    load_text(_QUEUE.sub(r"\1codel", _SENDER.sub(r"\1cubic", text)), path, repeats=1)
    whole: dict[str, Any] = _whole(YAML(typ="safe").load(text), path.absolute().parent)
    return whole


def _whole(value: Any, folder: Path, key: str = "") -> Any:
    """Contents in which names of files that are in a folder have their path."""
    if isinstance(value, dict):
        return {name: _whole(one, folder, str(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one, folder, key) for one in value]
    is_file = isinstance(value, str) and (key == "file" or Path(value).suffix in KINDS)
    return str(folder / value) if is_file and (folder / value).is_file() else value
