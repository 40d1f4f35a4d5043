"""Files beside an experiment file: traces of rates and deliveries, plug-ins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dumbbell.experiment.source import similar_file
from dumbbell.files.input import TooLargeError, read_file

#: SHA-256 of a plug-in, whether it needs ECN, whether it is for L4S, whether fq paces it.
Facts = tuple[str, bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Files:
    """Files by the names that an experiment file gives them, relative to its folder."""

    folder: Path

    def read_file(self, name: str, most_bytes: int) -> bytes | str | None:
        """Contents of a file; a reason; None: it is too large."""
        try:
            return read_file(self.folder / name, most_bytes)
        except TooLargeError:
            return None
        except OSError as error:
            return error.strerror or str(error)

    def plugin(self, name: str, path: str) -> Facts | str:
        """Facts of the plug-in in a file, declared by `name`; or a reason."""
        from dumbbell.plugins.kept import KINDS
        from dumbbell.plugins.run import facts_of
        from dumbbell.plugins.unusable import UnusableError

        try:
            sha256, found = facts_of(self.folder / path, name)
        except UnusableError as error:
            return str(error)
        except OSError as error:
            reason = error.strerror or str(error)
            missing = isinstance(error, FileNotFoundError)
            near = similar_file(self.folder / path, KINDS) if missing else None
            return reason if near is None else f"{reason}; did you mean {Path(near).name}?"
        return sha256, found.needs_ecn, found.l4s, found.paced_by_fq

    def parameters(self, name: str, path: str) -> tuple[str, ...] | None:
        """Names of the parameters of the plug-in in a file; None: any, or they are not known."""
        from dumbbell.plugins.run import facts_of
        from dumbbell.plugins.unusable import UnusableError

        try:
            return facts_of(self.folder / path, name)[1].parameters
        except (UnusableError, OSError):
            return None
