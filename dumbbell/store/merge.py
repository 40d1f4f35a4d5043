"""Merge of stores, as of the shards of a sweep.

Everything is verified before anything is written. A run is in the merged store once its segment has
its name, as in any store; a merge that was killed is completed by the same command.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import StoreError
from dumbbell.files.whole import temporary_of, write_file, write_plain
from dumbbell.store.adopt import writing
from dumbbell.store.collector import collector_paused
from dumbbell.store.files import FileMark, listed, mark_of, problem, remove
from dumbbell.store.index import Kept
from dumbbell.store.journal import Journal
from dumbbell.store.merge_source import (
    Experiments,
    Fact,
    Source,
    by_segment,
    opened,
    verify,
)
from dumbbell.store.place import MARK, check_format, refuse_other
from dumbbell.store.record_files import read_all_fields, read_one, record_path
from dumbbell.store.records import record_of
from dumbbell.store.remote import entered, remote_of
from dumbbell.store.segments import (
    MANIFEST,
    Segment,
    new_segment,
    put_segment,
    write_frames,
    write_segment,
)

#: Errors of a file that cannot have a second name: it is copied.
_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EACCES)


@dataclass(frozen=True, slots=True)
class Merged:
    """Result of a merge.

    Attributes:
        sources: Stores with the numbers of their runs that were added, and of duplicates.
        runs: Runs of all experiments in the merged store.
        experiments: Number of experiments.
        undone: Runs that no store had.
    """

    sources: Sequence[tuple[Path, int, int]]
    runs: int
    experiments: int
    undone: int


def merge(
    sources: Sequence[Path], into: Path, tell: Callable[[str], None] = lambda _: None
) -> Merged:
    """Adds the runs and experiments of stores to a store, which is created if there is none.

    Args:
        sources: Stores to read. They stay as they are.
        into: Store to write.
        tell: Receives a line of progress per store.

    Raises:
        StoreError: A store has another format or is damaged; two stores differ in an experiment's
            file, repeats, seed or engine version; a run has two digests; `into` cannot be written.
    """
    paths = _places(sources, into)
    with _clear(into, "read"), collector_paused():
        experiments = Experiments()
        target = opened(into) if _is_begun(into) else None
        if target is not None:
            experiments.add(target, read_all_fields(into, target.index.segments)[0])
        stores = [opened(path) for path in paths]
        for store in stores:
            found, wrong = read_all_fields(store.path, store.index.segments)
            if wrong:
                raise StoreError(
                    f"{wrong[0]}; `dumbbell run FILE` with its file writes it again",
                    code=Code.DAMAGED,
                )
            experiments.add(store, found)
        claims = _claims([into, *paths])
        known: dict[str, tuple[Fact, Path]] = {}
        kept: set[str] = set()
        if target is not None:
            shared = set().union(*(store.index.named() for store in stores))
            verify(target, shared, strict=False)
            kept = target.index.runs() - (shared - set(target.whole))
            known = {run: (fact, into) for run, fact in target.facts.items()}
        new = []
        for store in stores:
            verify(store, experiments.of(store), strict=True)
            new.append(_added(store, known))
            count = many(len(store.whole), "run")
            tell(f"{store.path}: {count} verified, {len(new[-1])} of them new")
    with _clear(into, "written"), writing(into) as journal:
        _write_experiments(into, journal, target, stores, experiments)
        for name, data in claims.items():
            _write_claims(into / "studies" / name, data, journal.owner)
        for store, runs in zip(stores, new, strict=True):
            _write_runs(into, journal.owner, {run: store.whole[run] for run in runs}, store.path)
    if (remote := remote_of(into)) is not None:
        remote.upload()
    counts = [
        (store.path, len(runs), len(store.whole) - len(runs))
        for store, runs in zip(stores, new, strict=True)
    ]
    planned = set().union(*experiments.runs.values())
    done = len(planned & (kept | set(known)))
    undone = len(planned) - done + experiments.unmade()
    return Merged(counts, done, len(experiments.fields), undone)


def _places(sources: Sequence[Path], into: Path) -> list[Path]:
    """Sources, each once. Refuses the target among them."""
    entered(into)
    paths = list({path.resolve(): path for path in sources}.values())
    for path in paths:
        if path.resolve() == into.resolve():
            raise StoreError(
                f"{path}: cannot be merged into itself: choose another -o", code=Code.MERGE
            )
    return paths


def _is_begun(into: Path) -> bool:
    """Returns true for a store with its mark. Refuses other formats and other folders."""
    if (into / MARK).exists():
        check_format(into)
        return True
    refuse_other(into)
    return False  # `create` completes a folder with the beginnings of a store


def _added(store: Source, known: dict[str, tuple[Fact, Path]]) -> list[str]:
    """Runs that no store before has, added to `known`. Refuses a run with two digests."""
    new = []
    for run, fact in store.facts.items():
        if run not in known:
            known[run] = (fact, store.path)
            new.append(run)
            continue
        other, path = known[run]
        if other.digest != fact.digest and fact.repeatable:
            raise StoreError(
                f"run {run} has two digests: {other.digest} in {path}, {fact.digest} in "
                f"{store.path}: a defect of the engine {fact.engine}, or a store was altered",
                code=Code.MERGE,
            )
    return new


@contextlib.contextmanager
def _clear(into: Path, what: str) -> Iterator[None]:
    """Context that turns errors of the system into one message."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full; the same command goes on from there"
        where = error.filename if isinstance(error.filename, str) else into
        raise StoreError(f"{where}: cannot be {what}: {reason}", code=Code.STORE_ACCESS) from None


def _write_experiments(
    into: Path,
    journal: Journal,
    target: Source | None,
    stores: Sequence[Source],
    experiments: Experiments,
) -> None:
    """Writes the experiments that the store lacks, after its own, in the order of their stores."""
    own = {} if target is None else target.experiments
    theirs: dict[str, tuple[int, int, str]] = {}
    for store in stores:
        for key, when in store.experiments.items():
            theirs[key] = max(theirs.get(key, when), when)
    last = max((order for key, (order, *_) in own.items() if key not in theirs), default=0)
    for key, (order, updated_ns, file) in theirs.items():
        path = record_path(into, key)
        record = record_of(key, experiments.fields[key])
        before = read_one(path)[0] if key in own else None
        if before is not None and before.runs == record.runs:
            continue
        record = replace(record, order=last + order, updated_ns=updated_ns, file=file)
        write_file(path, record.encoded(), sync=True, owner=journal.owner)


def _claims(stores: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Fingerprints of claims by file of the study. Refuses two of one claim."""
    found: dict[str, dict[str, str]] = {}
    origin: dict[tuple[str, str], Path] = {}
    for store in stores:
        for path in listed(store / "studies", "*.json"):
            try:
                claims = dict(json.loads(path.read_bytes()))
            except (ValueError, TypeError):
                raise StoreError(
                    f"{path}: damaged; it should hold the claims of a study", code=Code.DAMAGED
                ) from None
            known = found.setdefault(path.name, {})
            for claim, mark in claims.items():
                if known.setdefault(claim, mark) != mark:
                    raise StoreError(
                        f"claim {claim} of the study {path.stem} is not the same in "
                        f"{origin[path.name, claim]} and {store}: it was changed between their "
                        "runs",
                        code=Code.MERGE,
                    )
                origin.setdefault((path.name, claim), store)
    return found


def _write_claims(path: Path, claims: Mapping[str, str], owner: str) -> None:
    data = json.dumps(claims, indent=1).encode()
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        write_file(path, data, sync=True, owner=owner)


def _write_runs(into: Path, owner: str, runs: Mapping[str, Kept], source: Path) -> None:
    """Writes the runs of one store: their files, then the segments that name these files."""
    for segment, own in by_segment(runs):
        _take_files(into, owner, source, (runs[run] for run in own))
        if set(own) == set(segment.runs):
            _take_segment(into, owner, segment)
        else:
            frames = {name: segment.frame(name, own) for name in segment.tables}
            write_frames(into, frames, {run: runs[run].noted or {} for run in own}, owner)
    entries = [kept.entry for kept in runs.values() if kept.entry is not None]
    if entries:
        _take_files(into, owner, source, (k for k in runs.values() if k.entry is not None))
        os.sync()  # the writer of the source may be alive, or have died before it did this
        write_segment(into, entries, owner)


def _take_files(into: Path, owner: str, source: Path, runs: Iterable[Kept]) -> None:
    copied, there, here = False, f"{source}/runs", f"{into}/runs"
    for kept in runs:
        for name, mark in (kept.files or {}).items():
            copied |= _take(f"{there}/{name}", f"{here}/{name}", mark, owner)
    if copied:
        os.sync()


def _take_segment(into: Path, owner: str, segment: Segment) -> None:
    """Takes a segment as it is."""
    final = into / "segments" / segment.path.name
    if final.exists():  # of an earlier merge, and damaged since
        final = new_segment(into)
    folder = temporary_of(final, owner)
    folder.mkdir()
    try:
        for name in (*(f"{table}.parquet" for table in segment.tables), MANIFEST):
            if not _linked(segment.path / name, folder / name):
                write_plain(folder / name, (segment.path / name).read_bytes(), sync=True)
        put_segment(folder, final)
    except OSError:
        with contextlib.suppress(OSError):
            remove(folder)
        raise


def _take(source: str, target: str, mark: FileMark, owner: str) -> bool:
    """Gives a file of a run a second name, or copies it. Returns true if it was copied."""
    try:
        if _linked(source, target):
            return False
    except FileExistsError:
        # Of a merge that was killed, or damaged.
        if Path(source).samefile(target) or problem(target, mark) is None:
            return False
    data = Path(source).read_bytes()
    if mark_of(data) != mark:
        raise StoreError(f"{source}: altered while it was read", code=Code.MERGE)
    write_file(Path(target), data, sync=False, owner=owner)
    return True


def _linked(source: str | Path, target: str | Path) -> bool:
    """Gives a file a second name; false if the file system cannot."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise
    return True
