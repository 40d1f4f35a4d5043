"""Implementation of the verb `playground`."""

from __future__ import annotations

from pathlib import Path

from dumbbell.errors import DumbbellError
from dumbbell.files.input import TooLargeError, read_file
from dumbbell.playground.page import page

#: Longest experiment that a page takes, bytes.
_MOST_BYTES = 1 << 20


def page_of(file: Path | None) -> str:
    """Page that opens with a file; None: with the first preset.

    Raises:
        DumbbellError: The file cannot be read, or the simulator was not built for pages.
    """
    if file is None:
        return page()
    try:
        text = read_file(file, _MOST_BYTES).decode()
    except TooLargeError:
        raise DumbbellError(f"{file}: more than {_MOST_BYTES} bytes, too long for a page") from None
    except UnicodeDecodeError:
        raise DumbbellError(f"{file}: not UTF-8") from None
    except OSError as error:
        raise DumbbellError(f"{file}: {error.strerror or error}") from None
    return page(text, file.name)
