"""Standard output that takes nothing: a full disk, a closed descriptor."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from dumbbell.files.output import OutputError


@contextlib.contextmanager
def written(to_errors: bool = False) -> Iterator[None]:
    """Context that turns errors of standard output into `OutputError`; ignores those of stderr."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if not to_errors:
            _silence(sys.stdout)
            raise OutputError(f"standard output: {error.strerror or error}") from None


def _silence(stream: Any) -> None:
    """Discards buffered output, which the interpreter could not flush at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
