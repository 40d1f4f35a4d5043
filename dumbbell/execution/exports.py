"""Files beside the results of an experiment: captures and event traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dumbbell.experiment.load import Experiment
    from dumbbell.results import Results
    from dumbbell.store import Store


@dataclass(frozen=True)
class Exports:
    """Files beside the results.

    Attributes:
        captures: Folder for captures; None: none are wanted.
        per_tap: A capture per run and tap.
        traces: Folder for event traces; None: none are wanted.
    """

    captures: str | Path | None
    per_tap: bool
    traces: str | Path | None

    def check(self, experiment: Experiment, path: str | Path) -> None:
        """Raises an error for outputs that the experiment does not make or that are unwritable."""
        from dumbbell.files.output import check_place

        if self.captures is not None:
            from dumbbell.capture.kept import check_captured

            check_captured(experiment, path)
            check_place(Path(self.captures) / "capture.pcapng")
        if self.traces is not None:
            from dumbbell.trace.write import check_kept

            check_kept(experiment, path)
            check_place(Path(self.traces) / "trace.tr")

    def write_captures(self, kept: Store, results: Results) -> None:
        """Writes the captures that a store keeps."""
        if self.captures is not None:
            from dumbbell.capture.kept import write_captures

            write_captures(kept, results, self.captures, per_tap=self.per_tap)

    def write_traces(self, results: Results) -> None:
        """Writes the event traces."""
        if self.traces is not None:
            from dumbbell.trace.write import write_traces

            write_traces(results, self.traces)
