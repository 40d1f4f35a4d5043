"""Stores that are merged: everything in them that is verified, and what they may not differ in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import StoreError, shortened
from dumbbell.store.index import Index, Kept, Sound
from dumbbell.store.made import Made
from dumbbell.store.place import MARK, check_format, is_store, no_store
from dumbbell.store.records import joined
from dumbbell.store.remote import entered
from dumbbell.store.segments import Segment

#: Engines whose runs differ each time: `repeatable` is false.
IN_REAL_TIME = ("netns",)
#: Fields of an experiment that two stores may not have different, and their options.
_ALIKE = {"repeats": " (--repeats)", "seed": " (--seed)", "factors": ""}


@dataclass(frozen=True, slots=True)
class Fact:
    """Digest of a run, and what made it."""

    digest: str
    engine: str
    version: str

    @property
    def repeatable(self) -> bool:
        """Returns true if another run gives the same digest."""
        return self.engine.partition(":")[0] not in IN_REAL_TIME


@dataclass
class Source:
    """A store of the merge.

    Attributes:
        path: Folder.
        index: What it holds.
        experiments: Experiments: id → order, time of the last run, file.
        whole: Undamaged runs of its experiments.
        facts: Digest and version of each of these runs.
    """

    path: Path
    index: Index
    experiments: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    whole: dict[str, Kept] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)


@dataclass
class Experiments:
    """Experiments of all stores of the merge, each once.

    Attributes:
        fields: Fields of each, by id.
        runs: Runs of each, by id.
    """

    fields: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: dict[str, frozenset[str]] = field(default_factory=dict)
    _from: dict[str, Source] = field(default_factory=dict)
    _named: dict[str, list[str]] = field(default_factory=dict)

    def add(self, source: Source, found: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds the experiments of a store. Raises `StoreError` if they do not fit the others."""
        for key, fields in found.items():
            if key in self.fields:
                self._compare(source, key, fields)
            source.experiments[key] = (
                fields.get("order", 0), fields["updated_ns"], fields.get("file", "")
            )  # fmt: skip
        groups: dict[str, list[str]] = {}
        for key in sorted(found, key=source.experiments.__getitem__):
            groups.setdefault(_group(found[key]), []).append(key)
        for group, keys in groups.items():
            before = self._named.setdefault(group, [])
            if before and not set(before) & set(keys):
                last = before[-1]
                raise StoreError(
                    _texts(self._from[last], self.fields[last], source, found[keys[-1]]),
                    code=Code.MERGE,
                )
            before += [key for key in keys if key not in before]
        for key, fields in found.items():
            if key not in self.fields:
                self.fields[key], self._from[key] = fields, source
                self.runs[key] = frozenset(one[0] for one in fields["runs"])

    def of(self, source: Source) -> set[str]:
        """Runs of the experiments of a store, finished or not."""
        return set().union(*(self.runs[key] for key in source.experiments))

    def unmade(self) -> int:
        """Number of runs of large sweeps that no shard has made so far."""
        every = ((fields["runs"], fields["repeats"]) for fields in self.fields.values())
        return sum(runs.cells * n - len(runs) for runs, n in every if isinstance(runs, Made))

    def _compare(self, source: Source, key: str, fields: Mapping[str, Any]) -> None:
        before, other = self.fields[key], self._from[key]
        name = f"experiment {fields['name']!r}"
        for what, option in _ALIKE.items():
            if fields[what] != before[what]:
                one, two = (shortened(json.dumps(f[what])) for f in (before, fields))
                raise StoreError(
                    f"{other.path} and {source.path} are not shards of one sweep: {name} has "
                    f"{what} {one} and {two}{option}",
                    code=Code.MERGE,
                )
        if fields["runs"] == before["runs"]:
            return
        if (both := joined(before["runs"], fields["runs"])) is not None:
            self.fields[key] = {**before, "runs": both}
            self.runs[key] = frozenset(both.distinct())
            return
        one, two = (version_of(store, f) for store, f in ((other, before), (source, fields)))
        if one and two and one != two:
            raise StoreError(
                f"{name} was run by two versions of the engine {fields['engine']}: {one} in "
                f"{other.path}, {two} in {source.path}; runs of two versions are never mixed",
                code=Code.MERGE,
            )
        files = "other contents of its plug-ins, programs or traces"
        unknown = f"another version of the engine {fields['engine']}, or {files}"
        raise StoreError(
            f"{other.path} and {source.path} plan other runs of {name}: "
            f"{files if one and two else unknown}",
            code=Code.MERGE,
        )


def version_of(store: Source, fields: Mapping[str, Any]) -> str:
    """Engine version of the first readable run of an experiment; empty: there is none."""
    for one in fields["runs"]:
        kept, _ = store.index.sound([one[0]])
        if kept:
            return facts_of(kept)[one[0]].version
    return ""


def _group(fields: Mapping[str, Any]) -> str:
    return json.dumps([fields["name"], fields["engine"], fields["overrides"]], sort_keys=True)


def _texts(one: Source, first: Mapping[str, Any], two: Source, second: Mapping[str, Any]) -> str:
    """Message about two experiments of one name with different texts."""
    head = (
        f"{one.path} and {two.path} are not shards of one sweep: the file of experiment "
        f"{first['name']!r} differs"
    )
    lines = (fields["yaml"].splitlines() for fields in (first, second))
    for number, (mine, yours) in enumerate(zip_longest(*lines), 1):
        if mine != yours:
            shown = (
                "no line" if line is None else f"`{shortened(line)}`" for line in (mine, yours)
            )
            return f"{head} at line {number}: {' and '.join(shown)}"
    return f"{head} in its line ends"


def opened(path: Path) -> Source:
    """A store, open for reading. Raises `StoreError` for other folders and other formats."""
    entered(path)
    if not is_store(path):
        raise StoreError(f"{path}: {no_store(path)}", code=Code.NOT_STORE)
    if not (path / MARK).exists():
        raise StoreError(f"{path / MARK}: missing; {_repair(path)}", code=Code.DAMAGED)
    check_format(path)
    return Source(path, Index(path, Sound(path)))


def verify(source: Source, wanted: AbstractSet[str], *, strict: bool) -> None:
    """Reads all files of the wanted runs of a store, and compares checksums.

    Raises:
        StoreError: With `strict`: something is damaged, or has no checksum.
    """
    source.whole, damages = source.index.sound(wanted & source.index.named())
    damages += source.index.unread(wanted - set(source.whole))
    if strict and damages:
        others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        raise StoreError(f"{damages[0]}{others}; {_repair(source.path)}", code=Code.DAMAGED)
    bare = [run for run, kept in source.whole.items() if kept.files is None]
    if strict and bare:
        raise StoreError(
            f"{source.path}: {many(len(bare), 'run was', 'runs were')} made before checksums were "
            "kept and cannot be verified: run their experiment again into a new store",
            code=Code.MERGE,
        )
    source.facts = facts_of(source.whole)


def facts_of(runs: Mapping[str, Kept]) -> dict[str, Fact]:
    """Digest and version of runs, by id."""
    found: dict[str, Fact] = {}
    columns = ("digest", "engine", "engine_version")
    for segment, own in by_segment(runs):
        frame = segment.frame("runs", own, columns)
        for run, *fact in frame.select("run", *columns).iter_rows():
            found[run] = Fact(*fact)
    for run, kept in runs.items():
        if kept.entry is not None:
            found[run] = Fact(*(kept.entry.fields[column] for column in columns))
    return found


def by_segment(runs: Mapping[str, Kept]) -> Iterable[tuple[Segment, list[str]]]:
    """Segments with the runs that are read from each."""
    found: dict[Path, tuple[Segment, list[str]]] = {}
    for run, kept in runs.items():
        if kept.segment is not None:
            found.setdefault(kept.segment.path, (kept.segment, []))[1].append(run)
    return found.values()


def _repair(path: Path) -> str:
    return f"`dumbbell store repair {shlex.quote(str(path))}` repairs it"
