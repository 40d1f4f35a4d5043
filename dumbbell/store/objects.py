"""Objects below a URL, by fsspec: listed, read and written, again and again while refused."""

from __future__ import annotations

import contextlib
import errno
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dumbbell.codes import Code
from dumbbell.errors import StoreError, StoreWarning, did_you_mean, nearest_name, shortened

T = TypeVar("T")

#: Time for which a refusing object store is asked again, and the first and longest pause, in s.
PATIENCE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 0.5, 10.0
#: Objects that are transferred at once.
_THREADS = 8
#: Protocols of stores without folders, which replace an object as a whole.
_FLAT = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "r2", "memory"}
#: Errors that asking again does not change.
_FINAL = (
    FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError,
    ImportError, NotImplementedError, TypeError, ValueError, StoreError,
)  # fmt: skip
#: Error numbers of a full disk.
FULL = (errno.ENOSPC, errno.EDQUOT)
#: Errors of the libraries of S3 that are no `OSError`.
_FINAL_NAMES = {"NoCredentialsError", "PartialCredentialsError", "ParamValidationError"}
_EXTRA = "pip install 'dumbbell-lab[remote]'"


class Objects:
    """Objects below a URL, by their names relative to it.

    Any method raises `StoreError` with the URL and the reason.

    Attributes:
        url: The URL.
        patient: Ask a store that refuses for `PATIENCE_S`; False: ask once.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.patient = True
        self._stopped = threading.Event()
        self._warned = False
        self._folders: set[str] = set()

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """File system of fsspec, and the path of the URL in it."""
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError:
            raise StoreError(
                f"{self.url}: a URL needs fsspec: {_EXTRA}", code=Code.NOT_INSTALLED
            ) from None
        try:
            system, root = url_to_fs(self.url)
        except ImportError as error:
            reason = shortened(str(error), 100)
            raise StoreError(f"{self.url}: {reason} (S3: {_EXTRA})", code=Code.URL) from None
        except ValueError as error:
            raise StoreError(f"{self.url}: {self._unknown() or error}", code=Code.URL) from None
        except Exception as error:
            raise StoreError(
                f"{self.url}: cannot be opened: {_reason(error)}", code=Code.URL
            ) from None
        return system, str(root).rstrip("/")

    def _unknown(self) -> str | None:
        """Message about a protocol that fsspec does not know; None: it does."""
        from fsspec import available_protocols  # type: ignore[import-untyped]

        known = available_protocols()
        for one in self.url.partition("://")[0].split("::"):
            if one not in known:
                near = nearest_name(one, known)
                hint = did_you_mean(near)
                return f"there is no protocol {one}{hint}; allowed: s3, file and others of fsspec"
        return None

    @property
    def is_flat(self) -> bool:
        """Returns true for a store without folders."""
        protocol = self._opened[0].protocol
        return bool(_FLAT & {protocol} if isinstance(protocol, str) else _FLAT & {*protocol})

    def names(self, folder: str) -> dict[str, int]:
        """Objects below a folder with their sizes in bytes; empty: there is none."""
        system, root = self._opened

        def find() -> dict[str, int]:
            system.invalidate_cache()
            try:
                found = system.find(f"{root}/{folder}", detail=True)
            except FileNotFoundError:
                return {}
            # Some file systems begin their names with a slash that the root has not.
            strip = len(root.lstrip("/")) + 1
            names = {name.lstrip("/")[strip:]: one["size"] for name, one in found.items()}
            return {name: int(size) for name, size in names.items() if "/." not in name}

        return self._tried("listed", find)

    def top(self) -> set[str]:
        """First parts of the names of all objects; empty: there is none."""
        system, root = self._opened

        def ls() -> set[str]:
            system.invalidate_cache()
            try:
                found = system.ls(root, detail=False)
                return {name.rstrip("/").rpartition("/")[2] for name in found}
            except FileNotFoundError:
                return set()

        return self._tried("listed", ls)

    def read(self, name: str) -> bytes | None:
        """Contents of an object; None: there is none."""
        system, root = self._opened

        def cat() -> bytes | None:
            try:
                return bytes(system.cat_file(f"{root}/{name}"))
            except FileNotFoundError:
                return None

        return self._tried("read", cat)

    def write(self, name: str, data: bytes) -> None:
        """Writes an object as a whole."""
        system, root = self._opened
        self._tried("written", lambda: self._put(f"{root}/{name}", system.pipe_file, data))

    def get(self, name: str, to: Path) -> bool:
        """Copies an object to a local file. Returns false if there is none."""
        system, root = self._opened

        def copy() -> bool:
            try:
                system.get_file(f"{root}/{name}", str(to))
            except FileNotFoundError:
                to.unlink(missing_ok=True)
                return False
            return True

        return self._tried("read", copy)

    def put(self, path: Path, name: str) -> None:
        """Copies a local file to an object."""
        system, root = self._opened

        def upload(place: str, source: str) -> None:
            system.put_file(source, place)

        self._tried("written", lambda: self._put(f"{root}/{name}", upload, str(path)))

    def _put(self, place: str, write: Callable[[str, Any], None], what: bytes | str) -> None:
        if self.is_flat:
            write(place, what)
            return
        system = self._opened[0]
        folder, _, name = place.rpartition("/")
        if folder not in self._folders:
            system.makedirs(folder, exist_ok=True)
            self._folders.add(folder)
        temporary = f"{folder}/.{name}.tmp"
        write(temporary, what)
        system.mv(temporary, place)

    def remove(self, name: str) -> None:
        """Removes an object. No error if it is already gone."""
        system, root = self._opened

        def delete() -> None:
            with contextlib.suppress(FileNotFoundError):
                system.rm_file(f"{root}/{name}")

        self._tried("written", delete)

    def each(self, call: Callable[[T], object], some: Iterable[T]) -> None:
        """Calls a function for several objects at once. Raises the first error."""
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="objects")
        self._stopped.clear()
        try:
            for _ in pool.map(call, some):
                pass
        finally:
            self._stopped.set()  # nobody waits for a pause of what is left
            pool.shutdown(cancel_futures=True)
            self._stopped.clear()

    def _tried(self, what: str, call: Callable[[], T]) -> T:
        """Calls a function until it succeeds, with growing pauses."""
        until = time.monotonic() + (PATIENCE_S if self.patient else 0.0)
        pause = FIRST_PAUSE_S
        while True:
            try:
                return call()
            except Exception as error:
                left = until - time.monotonic()
                if _is_final(error) or left <= 0 or self._stopped.is_set():
                    raise self._error(what, error) from None
                self._warn(error)
                self._stopped.wait(min(left, pause * random.uniform(0.5, 1.0)))
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            text = f"{self.url}: refuses ({_reason(error)}); asked again for {PATIENCE_S:g} s"
            warnings.warn(text, StoreWarning, stacklevel=2)

    def _error(self, what: str, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        reason = _reason(error)
        if isinstance(error, PermissionError) or type(error).__name__ in _FINAL_NAMES:
            reason = f"no permission: {reason}"
        elif not _is_final(error) and self.patient:
            reason = f"refused for {PATIENCE_S:g} s: {reason}"
        return StoreError(f"{self.url}: cannot be {what}: {reason}", code=Code.URL)


def _is_final(error: Exception) -> bool:
    if getattr(error, "errno", None) in (*FULL, errno.EROFS):
        return True
    return isinstance(error, _FINAL) or type(error).__name__ in _FINAL_NAMES


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shortened(str(text), 160)
