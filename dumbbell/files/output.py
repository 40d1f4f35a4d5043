"""Files for the user: written whole or not at all, JSON without NaN."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError

if TYPE_CHECKING:
    import polars as pl

#: In place of a file or folder: to standard output.
PRINTED = "-"
#: Devices and open files of processes: what stands there is written to, never replaced.
_SYSTEM = ("/dev/", "/proc/")


class OutputError(DumbbellError):
    """A file, or standard output, that cannot be written."""

    code = Code.UNWRITABLE


def json_text(content: Any, *, indent: int | None = None) -> str:
    """JSON of plain values, `null` for a number that is none (NaN, infinite).

    With `indent`, a line per value; without, no spaces.
    """
    separators = (",", ":") if indent is None else None

    def text(value: Any) -> str:
        return json.dumps(
            value, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
        )

    try:
        return text(content)
    except ValueError:
        return text(_finite(content))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def write_output(path: str | Path, data: str | bytes) -> None:
    """Writes a file whole or not at all (text as UTF-8), its folder made where it is missing.

    Raises `OutputError` if it cannot be written; an earlier file then stands as it was.
    """
    content = data.encode(errors="replace") if isinstance(data, str) else data
    with replacing(path) as place:
        place.write_bytes(content)


def write_json(path: str | Path, content: Any) -> None:
    """Writes JSON for people: a line per value. Raises `OutputError`."""
    write_output(path, json_text(content, indent=1) + "\n")


def write_parquet(path: str | Path, frame: pl.DataFrame) -> None:
    """Writes a table as Parquet. Raises `OutputError`."""
    # Made in memory: what polars says of a full disk is no `OSError`.
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_output(path, buffer.getvalue())


def check_place(path: str | Path) -> None:
    """Raises `OutputError` if a file could not be written there: asked before long work."""
    with replacing(path, put=False):
        pass


@contextlib.contextmanager
def replacing(path: str | Path, *, put: bool = True) -> Iterator[Path]:
    """A place to write a file to, which takes the place of `path` when the block ends well.

    It has the suffix of `path` and stands beside it. If the block fails it is removed. Where
    nothing can be replaced (a device, a pipe, a folder that takes no new file) it is `path` itself.
    Without `put` nothing takes the place of `path`.

    Raises:
        OutputError: For any `OSError` within, or if the file cannot be put in its place.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(target)
        if temporary is None:
            yield target
            return
        try:
            yield temporary
            if put:
                _put(temporary, target.resolve())
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


def _temporary(target: Path) -> Path | None:
    """A new empty file beside `target`, with its rights; None if `target` cannot be replaced."""
    mode = None
    if str(target.absolute()).startswith(_SYSTEM):
        return None
    with contextlib.suppress(FileNotFoundError):
        found = target.stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode):
            return None
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mode = stat.S_IMODE(found.st_mode)
    real = target.resolve()
    if len(os.fsencode(real.name)) > os.pathconf(real.parent, "PC_NAME_MAX"):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    temporary = real.with_name(f".{os.urandom(8).hex()}.tmp{real.suffix[:16]}")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except PermissionError:
        if mode is None:
            raise
        return None
    if mode is not None:
        temporary.chmod(mode)
    return temporary


def _put(temporary: Path, target: Path) -> None:
    """Moves a finished file to its name; after a power failure it is whole or the earlier one."""
    handle = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    temporary.replace(target)
