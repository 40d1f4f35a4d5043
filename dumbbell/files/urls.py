"""URLs in place of folders: a store in an object store has a working copy in the user's cache.

`store_path` is the one place that tells a URL from a path. Everything else works on the folder
that it returns; `dumbbell.errors.shown` puts the URL back into messages.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import WORKING_COPIES, StoreError
from dumbbell.files.cache import cache_folder

#: How a URL begins, and what is left of that by `pathlib`, which removes the second slash.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_CUT = re.compile(r"([a-z][a-z0-9+-]+):/[^/].*")


def is_url(text: str | Path) -> bool:
    """Returns true if a store is named by a URL, as `s3://bucket/sweep`."""
    return _URL.match(str(text)) is not None


def store_path(store: str | Path) -> Path:
    """Folder of a store; of a URL: its working copy. Creates nothing.

    Raises `StoreError` for what looks like a URL with one slash.
    """
    text = str(store)
    if not is_url(text):
        if (cut := _CUT.fullmatch(text)) is not None and not Path(text).exists():
            raise StoreError(
                f"{text}: a URL has two slashes, as {cut[1]}://bucket/sweep (text, in Python, no "
                f"Path); a folder of this name: ./{text}",
                code=Code.URL,
            )
        return Path(store)
    url = text.rstrip("/")
    key = hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()[:16]
    name = url.rpartition("/")[2].lstrip(".") or "store"
    path = (copies_folder() / key / name).resolve()
    WORKING_COPIES[str(path)] = url
    return path


def copies_folder() -> Path:
    """Folder of working copies: `$XDG_CACHE_HOME/dumbbell/stores`, by default below `~/.cache`."""
    return cache_folder("stores")


def url_of(path: Path) -> str | None:
    """URL of a working copy; None: the folder is a store itself."""
    return WORKING_COPIES.get(str(path))


def below(store: Path, name: str) -> Path:
    """Store inside of the place of another."""
    url = url_of(store)
    return store / name if url is None else store_path(f"{url}/{name}")
