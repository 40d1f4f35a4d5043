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
    """

    path: Path
    name: str
    text: str


def find_scripts(places: Sequence[Path]) -> list[Script]:
    """Scripts of files and of folders with all that is below them, each once, in order.

    Raises:
        DumbbellError: A place has none, or a file cannot be read.
    """
    found: dict[Path, str] = {}
    for place in places:
        if place.is_dir():
            inside = sorted(place.rglob(f"*{_SUFFIX}"))
            if not inside:
                raise _wrong(f"{place}: no script: no file ends with {_SUFFIX}")
            found.update({path.absolute(): str(path.relative_to(place)) for path in inside})
        else:
            found.setdefault(place.absolute(), place.name)
    if len(found) > MOST_SCRIPTS:
        raise _wrong(f"{len(found)} scripts are more than {MOST_SCRIPTS}")
    counts = Counter(found.values())
    # Two folders may have scripts of one name.
    named = {path: name if counts[name] == 1 else str(path) for path, name in found.items()}
    return [Script(path, name, _text(path)) for path, name in named.items()]


def _text(path: Path) -> str:
    try:
        content = read_file(path, MOST_BYTES)
        return content.decode("utf-8-sig")
    except TooLargeError as error:
        raise _wrong(f"{path}: {error}") from None
    except OSError as error:
        raise _wrong(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _wrong(f"{path}: line {line}: not UTF-8") from None


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
