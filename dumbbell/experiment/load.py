"""Experiment files, checked before a run. `dumbbell._core` makes their cells one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from sys import intern
from typing import Any

import orjson

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.experiment import mapping
from dumbbell.experiment.beside import Files
from dumbbell.experiment.cells import Cell, Cells
from dumbbell.experiment.contents import MAX_REPEATS, Contents, ExpectSpec, RepeatsSpec, contents
from dumbbell.experiment.parameters import check_parameters
from dumbbell.experiment.refused import SET, located, refused
from dumbbell.experiment.source import Node, parse, read
from dumbbell.runs import ExperimentInfo, column_names

Overrides = Mapping[str, str | int | float | bool | Sequence[str]]

MAX_RUNS = 1_000_000
MAX_SEED = 2**62
#: Sections that name metrics.
_OF_METRICS = ("expect", "search", "repeats")


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment, ready to run.

    Attributes:
        info: Name, text, factors, repeats, seed.
        file: Path of the file, as the user named it.
        overrides: Levels and values of `set`, as written.
        cells: All combinations of levels: a list, or of many :class:`Cells`.
        expect: Expectations on its results.
        enough: Rule that ends the repeats of a cell; None: their number is fixed.
        counts: Repeats of each cell; None: as many in every cell.
    """

    info: ExperimentInfo
    file: str
    overrides: dict[str, list[str]]
    cells: Sequence[Cell]
    expect: tuple[ExpectSpec, ...] = ()
    enough: RepeatsSpec | None = None
    counts: tuple[int, ...] | None = None

    @property
    def flows(self) -> set[str]:
        """Names of the flows of all cells. Makes every cell."""
        return {flow for cell in self.cells for flow in cell.rtt_ns}

    def repeats_of(self, cell: int) -> int:
        """Number of repeats of a cell."""
        return self.info.repeats if self.counts is None else self.counts[cell]


def load(
    path: str | Path | Mapping[str, Any],
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
) -> Experiment:
    """Reads an experiment file and checks its scenarios.

    All are checked, unless there are too many to keep (see :meth:`Opened.all_cells`).

    Args:
        path: Path of the file, or a mapping with its contents.
        set: Factor → level or levels that replace its own; or path of a field → value.
        repeats: Number of repeats; None: as in the file.
        seed: Seed of the first repeat; None: as in the file.

    Raises:
        ExperimentError: First error, with file, line and field. `more` has the others.
    """
    if isinstance(path, Mapping):
        return load_text(mapping.written(path), mapping.PATH, set=set, repeats=repeats, seed=seed)
    path = Path(path)
    text = read(path)
    return load_text(text, path, set=set, repeats=repeats, seed=seed)


def open_file(path: str | Path) -> Opened:
    """Opens an experiment file for reading its cells one by one. Raises `ExperimentError`."""
    path = Path(path)
    return Opened(read(path), path)


def load_text(
    text: str,
    path: Path,
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
) -> Experiment:
    """Reads an experiment from text, see :func:`load`. `path`: for messages and trace files."""
    opened = Opened(text, path, set=set, repeats=repeats, seed=seed)
    done = opened.all_cells()
    info, file, overrides = opened.info, opened.file, opened.overrides
    return Experiment(info, file, overrides, done, opened.expect, opened.enough)


@cache
def reserved_names() -> frozenset[str]:
    """Names that factors cannot have: the columns of result tables."""
    of_summaries = {"value", "mean", "low", "high", "count"}
    return column_names() | of_summaries


#: Maximum length of a text that is kept for the next call, in characters.
_MAX_KEPT = 16 << 10


@lru_cache(maxsize=64)
def _kept(text: str, file: str) -> Node:
    return parse(text, file)


def _parsed(text: str, file: str) -> Node:
    """Tree of a text. Trees are never changed, so that calls in a loop share them."""
    return _kept(text, file) if len(text) <= _MAX_KEPT else parse(text, file)


def as_written(chosen: Overrides) -> dict[str, list[str]]:
    """Overrides as texts: each name with its levels or its value."""
    return {
        name: [str(one) for one in value]
        if isinstance(value, list | tuple)
        else [str(value).lower() if isinstance(value, bool) else str(value)]
        for name, value in chosen.items()
    }


class Reading:
    """What a text with overrides says. It is never changed, so that calls share it.

    Attributes:
        file: Path of the file, as the user named it.
        root: Tree of the file, without overrides.
        overrides: Overrides as texts.
        core: Factors and cells.
        contents: Contents of the first cell.
        whole: All cells, if they are kept for the next call.
    """

    def __init__(self, text: str, path: Path, chosen: Overrides) -> None:
        """Reads the first cell. Raises `ExperimentError`."""
        self.file, self.files = str(path), Files(path.parent)
        self.root = _parsed(text, self.file)
        self.overrides = as_written(chosen)
        given = [
            (name, [outside(_parsed(one, f"{SET} {name}={one}")) for one in texts])
            for name, texts in self.overrides.items()
        ]
        try:
            self.core = _core.Experiment(
                self.root, given, reserved_names(), self._start, self._metrics()
            )
            if self.core.count == 0:
                message, line = "there is no combination of levels", self.line("factors")
                raise ExperimentError(message, file=self.file, line=line, code=Code.FACTORS)
            self._names = [name for name, _ in self.core.factors]
            self.first = self._cell(0)
            self.contents: Contents = contents(orjson.loads(self.core.contents()))
            check_parameters(self.root, self.files, self.file)
        except _core.RefusedError as error:
            raise refused(error, self.file) from None
        self.whole: list[Cell] | None = None

    def _start(self, name: str) -> tuple[str, Node]:
        """Start value of a range of the search's space."""
        from dumbbell.experiment.space import read_range  # few files have a search

        level = read_range(self.root, name, self.file).start_level()
        return level.label, level.node

    def _metrics(self) -> dict[str, tuple[str, float, float, bool]] | None:
        """Metrics by the names that a file may give; None: no section names one."""
        written = self.root.value if isinstance(self.root.value, dict) else {}
        set_here = {name.partition(".")[0] for name in self.overrides}
        if not any(name in written or name in set_here for name in _OF_METRICS):
            return None
        # Metrics import polars and numpy; few experiments name any.
        from dumbbell.metrics import METRICS, RENAMED

        names = RENAMED | {name: name for name in METRICS}
        return {
            name: (of, float(low), float(high), METRICS[of].unit == "share")
            for name, of in names.items()
            for low, high in [METRICS[of].bounds]
        }

    def line(self, field: str) -> int | None:
        """Line of a top-level field; None: the file does not write it."""
        return self.root.key_lines.get(field) or None

    def cells(self, begin: int, end: int | None) -> Iterator[Cell]:
        """See :meth:`Opened.cells`."""
        last = self.core.count if end is None else min(end, self.core.count)
        return map(self.cell, range(begin, last))

    def cell(self, number: int) -> Cell:
        """A cell by its number. Raises `ExperimentError`."""
        if number == 0:
            return self.first
        try:
            return self._cell(number)
        except _core.RefusedError as error:
            raise refused(error, self.file) from None

    def _cell(self, number: int) -> Cell:
        made = self.core.cell(number, self.files)
        return Cell(
            dict(zip(self._names, map(intern, made.labels), strict=True)),
            made.scenario,
            made.unsampled,
            made.sampled,
            dict(made.rtt_ns),
            made.duration_ns,
            (made.content, made.unsampled_content),
        )


def outside(node: Node) -> Node:
    """Copy of a node from outside a file: every line is 0."""
    if isinstance(node.value, dict):
        inner = {key: outside(child) for key, child in node.value.items()}
        return Node(inner, node.text, 0, dict.fromkeys(inner, 0))
    if isinstance(node.value, list):
        return Node([outside(child) for child in node.value], node.text, 0)
    return Node(node.value, node.text, 0)


#: Readings of the last texts: a call in a loop reads its experiment once.
_READINGS: dict[tuple[str, str, str], Reading] = {}
_MAX_READINGS = 16
#: Maximum length of all scenarios of a reading that is kept, in characters.
_MAX_SCENARIOS = 4 << 20
#: Maximum length of all scenarios of an experiment, estimated from the first one, that is held in
#: memory, in characters. The cells of a larger one are made when they are asked for.
_MAX_KEPT_SCENARIOS = 64 << 20
#: Maximum number of cells of a large experiment that are checked before its first run.
_MOST_CHECKED = 1000


def _reading(text: str, path: Path, chosen: Overrides) -> Reading:
    written = repr(as_written(chosen))
    key = text, str(path), written
    if key in _READINGS:
        return _READINGS[key]
    made = Reading(text, path, chosen)
    large = len(text) > _MAX_KEPT or len(made.first.scenario) > _MAX_SCENARIOS
    if not (large or _may_read_files(text) or _may_read_files(written)):
        if len(_READINGS) >= _MAX_READINGS:
            _READINGS.clear()
        _READINGS[key] = made
    return made


def reads_files(experiment: Experiment) -> bool:
    """Returns true if scenarios may depend on more than the text of the experiment file."""
    written = experiment.info.yaml + repr(experiment.overrides)
    return _may_read_files(written) or "programs" in written


def _may_read_files(text: str) -> bool:
    """Returns true if a text may name a file, whose contents may change between calls."""
    words = ("trace", "rates", "plugins", "\\")  # an escape may spell a word
    return any(word in text for word in words)


class Opened:
    """An experiment file. The first cell is checked at once, the others on demand.

    Attributes:
        info: Name, text, factors, repeats, seed.
        file: Path of the file, as the user named it.
        overrides: Levels and values of `set`, as written.
        count: Number of cells.
        expect: Expectations on its results.
        enough: Rule that ends the repeats of a cell; None: their number is fixed.
        search: Its search; None: there is none.
        reading: Tree, factors and cells.
    """

    def __init__(
        self,
        text: str,
        path: Path,
        *,
        set: Overrides | None = None,
        repeats: int | None = None,
        seed: int | None = None,
    ) -> None:
        """See :func:`load_text`."""
        self.file = str(path)
        self.reading = reading = _reading(text, path, set or {})
        first, core = reading.contents, reading.core
        self.overrides = dict(reading.overrides)
        self.count = core.count
        self.factors_line = reading.line("factors")
        self.expect = first.expect
        varies = repeats is None and first.repeats.until is not None
        self.enough = first.repeats if varies else None
        self.search = first.search
        self.has_access_links = first.access_links
        self.info = ExperimentInfo(
            name=first.name,
            yaml=text,
            factors={name: list(labels) for name, labels in core.factors},
            repeats=_bounded(
                "repeats", first.repeats.max if repeats is None else repeats, 1, MAX_REPEATS
            ),
            seed=_bounded("seed", first.seed if seed is None else seed, 0, MAX_SEED),
        )
        if self.info.repeats * self.count > MAX_RUNS:
            message = f"{self.info.repeats * self.count} runs, more than {MAX_RUNS}"
            line = reading.line("repeats") or self.factors_line
            raise ExperimentError(message, file=self.file, line=line, code=Code.CELLS)

    def cells(self, begin: int = 0, end: int | None = None) -> Iterator[Cell]:
        """Checked cells from number `begin` to before `end`."""
        return self.reading.cells(begin, end)

    def all_cells(self) -> Sequence[Cell]:
        """All cells, checked.

        Of an experiment with many cells, they are made when they are asked for. Those that have
        each level once are checked here, the others when they are made.
        """
        reading = self.reading
        if reading.whole is not None:
            return list(reading.whole)
        if len(reading.first.scenario) * self.count > _MAX_KEPT_SCENARIOS:
            cells = Cells(reading.core.groups, reading.cell)
            for number in cells.of_each_level(_MOST_CHECKED):
                reading.cell(number)
            return cells
        done = list(self.cells())
        if sum(len(cell.scenario) for cell in done) <= _MAX_SCENARIOS:
            reading.whole = done
        return list(done)


def explain(
    experiment: Experiment | Opened, cell: int, error: _core.ScenarioError
) -> ExperimentError:
    """Error of an engine, with line and field of the experiment file.

    Args:
        experiment: Experiment as loaded.
        cell: Index of the refused cell.
        error: Error of the engine.
    """
    path, code = Path(experiment.file), getattr(error, "code", None)
    reading = Reading(experiment.info.yaml, path, experiment.overrides)
    found = reading.core.place(cell, error.path, error.message, reading.files)
    return located(found, experiment.file, code)


def canonical(scenario: Mapping[str, Any]) -> str:
    """Canonical JSON text of a scenario: sorted keys, no spaces."""
    return orjson.dumps(scenario, option=orjson.OPT_SORT_KEYS).decode()


def _bounded(name: str, value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    message = f"should be a whole number from {low} to {high}"
    raise ExperimentError(message, file=f"--{name}", found=str(value), code=Code.OPTION)
