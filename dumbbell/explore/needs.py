"""Packages that the explorer needs beside those of Dumbbell."""

from __future__ import annotations

from importlib.util import find_spec

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError


def check_installed() -> None:
    """Raises `DumbbellError` if a package is missing."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise DumbbellError(
            f"the explorer needs {' and '.join(missing)}: pip install 'dumbbell-lab[explore]'",
            code=Code.NOT_INSTALLED,
        )
