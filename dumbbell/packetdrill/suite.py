"""Scripts: where they are, and what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, shortened
from dumbbell.files.input import TooLargeError, read_file

#: Largest script that is read, in bytes.
MOST_BYTES = 1 << 20
#: Most scripts of one call.
MOST_SCRIPTS = 100_000
_SUFFIX = ".pkt"


@dataclass(frozen=True, slots=True)
class Script:
    """A script.

    Attributes:
        path: Its file, absolute.
        name: Its file, from the folder that was given.
        text: What is in it.
        unreadable: Why it could not be read, and at which line (0: none); None: it could.
    """

    path: Path
    name: str
    text: str
    unreadable: tuple[str, int] | None = None


def find_scripts(places: Sequence[Path]) -> list[Script]:
    """Scripts of files and of folders with all that is below them, each once, in order.

    A script of a folder that cannot be read does not keep the others from being played.

    Raises:
        DumbbellError: A place has none, or a file that was named cannot be read.
    """
    found: dict[Path, str] = {}
    below: set[Path] = set()
    for place in places:
        if place.is_dir():
            inside = sorted(place.rglob(f"*{_SUFFIX}"))
            if not inside:
                raise _wrong(f"{place}: no script: no file ends with {_SUFFIX}")
            found.update({path.absolute(): str(path.relative_to(place)) for path in inside})
            below.update(path.absolute() for path in inside)
        else:
            found.setdefault(place.absolute(), place.name)
    if len(found) > MOST_SCRIPTS:
        raise _wrong(f"{len(found)} scripts are more than {MOST_SCRIPTS}")
    counts = Counter(found.values())
    # Two folders may have scripts of one name.
    named = {path: name if counts[name] == 1 else str(path) for path, name in found.items()}
    return [_script(path, name, path in below) for path, name in named.items()]


def _script(path: Path, name: str, of_folder: bool) -> Script:
    try:
        content = read_file(path, MOST_BYTES)
        return Script(path, name, content.decode("utf-8-sig"))
    except TooLargeError as error:
        why, line = str(error), 0
    except OSError as error:
        why, line = error.strerror or str(error), 0
    except UnicodeDecodeError as error:
        why, line = "not UTF-8", content[: error.start].count(b"\n") + 1
    if of_folder:
        return Script(path, name, "", (why, line))
    raise _wrong(f"{path}: line {line}: {why}" if line else f"{path}: {why}")


def defined(given: Sequence[str]) -> list[tuple[str, str]]:
    """Words of `--define NAME=VALUE`. Raises `DumbbellError` for another form."""
    words = []
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.isidentifier():
            raise _wrong(f"--define {shortened(one)}: expected NAME=VALUE")
        words.append((name, value))
    return words


def _wrong(message: str) -> DumbbellError:
    return DumbbellError(message, code=Code.PACKETDRILL)
