"""Files of this machine on which the programs of a scenario depend, as part of a run's address."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from dumbbell.engines.elf import Linked, library, linked
from dumbbell.engines.programs import PATH, is_hidden
from dumbbell.scenario import Program, read_scenario

#: Larger files, and those after so many, count by size and time of change.
_WHOLE_BYTES, _MOST_FILES = 256 << 20, 400
#: Words of a program that are looked up, at most.
_MOST_WORDS = 2000
_BETWEEN = re.compile(r"""[\s;|&()<>{}`'"=,:$]+""")
#: First line of a script: its interpreter.
_SCRIPT_BYTES = 4096


def host_files(scenario: str) -> str:
    """Text that changes with the programs of a scenario on this machine; empty without programs.

    It hashes path and content of each word of a program that is the name of a program or the
    absolute path of a file, of interpreters of scripts, and of libraries. What a program opens
    else is not known before it runs.
    """
    if '"programs"' not in scenario:
        return ""
    programs = read_scenario(scenario).get("programs", [])
    if not programs:
        return ""
    found: dict[Path, str] = {}
    for program in programs:
        for path in _named(program):
            _add(path, program["environment"], found)
    lines = [f"{path}\0{digest}\n" for path, digest in sorted(found.items())]
    return (
        f"+programs {hashlib.sha256(''.join(lines).encode(errors='surrogateescape')).hexdigest()}"
    )


def _named(program: Program) -> Iterator[Path]:
    """Files that the words of a program name."""
    places = program["environment"].get("PATH", PATH)
    texts = [*program["run"], program["input"], *program["environment"].values()]
    words = [word for text in texts for word in [text, *_BETWEEN.split(text)]]
    for word in dict.fromkeys(words[:_MOST_WORDS]):
        yield from _file(word, places)


def _file(word: str, places: str) -> Iterator[Path]:
    """The file of a word; none if it names none."""
    if word.startswith("/"):
        yield Path(word)
    elif word and "/" not in word and "\0" not in word:
        found = shutil.which(word, path=places)
        if found is not None:
            yield Path(found)


def _add(path: Path, environment: Mapping[str, str], found: dict[Path, str]) -> None:
    """Adds a file and all that it needs to run."""
    if path in found or is_hidden(str(path)):
        return
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return
        whole = status.st_size <= _WHOLE_BYTES and len(found) < _MOST_FILES
        digest, needs, script = _read(path, _changed(status)) if whole else ("", Linked(), ())
    except (OSError, ValueError):  # not there, or not to be read
        return
    found[path] = digest or f"{status.st_size} {status.st_mtime_ns}"
    for word in script:
        for interpreter in _file(word, environment.get("PATH", PATH)):
            _add(interpreter, environment, found)
    if needs.loader:
        _add(Path(needs.loader), environment, found)
    folders = [*environment.get("LD_LIBRARY_PATH", "").split(":"), *needs.folders]
    for name in needs.names:
        own = library(name, [one for one in folders if one], path.resolve().parent)
        if own is not None:
            _add(own, environment, found)


def _changed(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


@lru_cache(maxsize=4096)
def _read(path: Path, changed: str) -> tuple[str, Linked, tuple[str, ...]]:
    """SHA-256 of a file, its libraries, and the words of its first line if it is a script.

    `changed`: see :func:`_changed`; a file that did not change is read once per process.
    """
    data = path.read_bytes()
    script: tuple[str, ...] = ()
    if data.startswith(b"#!"):
        line = data[2:_SCRIPT_BYTES].split(b"\n", 1)[0].decode(errors="surrogateescape")
        script = tuple(line.split())
    return hashlib.sha256(data).hexdigest(), linked(data), script
