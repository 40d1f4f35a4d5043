"""A transfer of a capture fitted: estimates, twin, ranking, residual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from random import Random
from typing import Any

from dumbbell.capture import CaptureError
from dumbbell.catalogue import single_path
from dumbbell.fit.algorithm import Ranking, possible, rank
from dumbbell.fit.chosen import chosen, lacking, too_short
from dumbbell.fit.observe import Observed, observe
from dumbbell.fit.path import Path, estimate
from dumbbell.fit.residual import Residue, residual
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import Sketch, drawn, sketch
from dumbbell.fit.what_if import Outcome, changes
from dumbbell.fit.what_if import what_if as tried
from dumbbell.fit.written import text

#: Twins with drawn paths that the residual compares with.
TWINS = 3
#: Congestion control of a twin whose capture does not show it: that of Linux.
DEFAULT = "cubic"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Fit:
    """A fitted transfer.

    Attributes:
        capture: Name of the file.
        seen: What the capture shows.
        path: Estimates.
        sketch: Values of the twin; None: the path is not known.
        ranking: Algorithms by probability; None: not ranked.
        twins: Runs of the twin with drawn paths, as its tap sees them; the first is the estimate.
            None without a ranking.
        residues: Quantities of capture and twins.
        notes: What the capture lacks.
        outcomes: Outcomes of the twin as it is and of each change of `what_if`.
    """

    capture: str
    seen: Observed
    path: Path
    sketch: Sketch | None
    ranking: Ranking | None
    twins: tuple[Observed, ...]
    residues: tuple[Residue, ...]
    notes: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = ()

    @property
    def algorithm(self) -> str:
        """Algorithm of the twin: the most probable one; not ranked: Linux's default."""
        return self.ranking.ranked[0].name if self.ranking is not None else DEFAULT

    @property
    def experiment(self) -> str:
        """Text of the twin's experiment file. Raises `CaptureError` if the path is not known."""
        if self.sketch is None:
            raise CaptureError(f"{self.capture}: the path is not known, so it has no twin")
        head = (f"Twin of connection {self.seen.row['connection']} of {self.capture}.", *self.notes)
        why = "assumed" if self.ranking is None else _why(self.ranking)
        return text(self.sketch, self.path, self.algorithm, why, head)


def _why(ranking: Ranking) -> str:
    if not ranking.told:
        return f"cannot tell: {ranking.why}"
    return f"probability {ranking.share} among {len(ranking.ranked)}; {ranking.why}"


def fit(
    path: str | FilePath,
    connection: int | None = None,
    *,
    algorithms: Sequence[str] | None = None,
    plugins: Mapping[str, str] | None = None,
    draws: int = 3,
    seed: int = 1,
    workers: int = 2,
    what_if: Sequence[str] = (),
    progress: Progress | None = None,
) -> Fit:
    """Fits a transfer: from its capture to the path, the limit and the algorithm.

    Args:
        path: Capture (pcap, pcapng, snoop, also compressed).
        connection: Number of the connection, as in `dumbbell.capture.survey`; None: the one with
            the most data.
        algorithms: Congestion controls to try; none: all that the catalogue has for one path; an
            empty list: no ranking.
        plugins: Congestion controls in files to try, too: name → path.
        draws: Paths drawn within the uncertainty for an algorithm near the best.
        seed: Seed of these draws.
        workers: Simulations at once.
        what_if: Changes of the twin to try, as `cc=bbr3,cubic`, `queue=cake`, `buffer=50 packets`.
        progress: Told runs so far, the most that may follow, and the best name.

    Raises:
        CaptureError: The file cannot be read, or has no TCP connection with data.
        DumbbellError: It has no such connection, or a change is unknown.
    """
    wanted = changes(what_if)
    row, notes = chosen(path, connection)
    seen = observe(path, row)
    notes += lacking(seen)
    if too_short(seen):
        raise CaptureError(
            f"{path}: connection {row['connection']} has {len(seen.sent_s)} data packets and "
            f"{len(seen.ack_s)} ACKs in this direction; both must be at least 10"
        )
    found = estimate(seen)
    try:
        values: Sketch | None = sketch(seen, found)
    except ValueError as error:
        notes.append(f"no twin: {error}")
        values = None
    ranking: Ranking | None = None
    twins: tuple[Observed, ...] = ()
    residues: tuple[Residue, ...] = ()
    if values is not None:
        values = replace(values, plugins=tuple((plugins or {}).items()))
        names = list(_candidates(found, algorithms))
        names = [*possible(seen, names), *(plugins or ())]
        if names:
            ranking = rank(
                seen, values, names, draws=draws, seed=seed, workers=workers, progress=progress
            )
        if ranking is not None:
            twins = tuple(_twins(seen, values, ranking.ranked[0].name, seed))
            residues = residual(seen, twins)
    outcomes: tuple[Outcome, ...] = ()
    if wanted and values is not None:
        outcomes = tried(
            seen, values, ranking, wanted, seed=seed, workers=workers, progress=progress
        )
    return Fit(str(path), seen, found, values, ranking, twins, residues, tuple(notes), outcomes)


def _candidates(found: Path, algorithms: Sequence[str] | None) -> Sequence[str]:
    """Algorithms to try; if an end limited the transfer, the twin's alone: none shows itself."""
    if algorithms is not None:
        return algorithms
    return [DEFAULT] if found.factor.ends else single_path()


def _twins(seen: Observed, one: Sketch, algorithm: str, seed: int) -> list[Observed]:
    made: list[Any] = []
    for number in range(TWINS):
        chance = Random(f"{seed} twin {number}")
        values = one if number == 0 else drawn(one, chance)
        made.append(run_twin(values, algorithm, seed + number, seen))
    return made
