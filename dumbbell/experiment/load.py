"""Translation of an experiment file to its scenarios, all checked before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.experiment import cells, mapping
from dumbbell.experiment.build import Built, Parts, build
from dumbbell.experiment.design import Design, Overrides, as_written
from dumbbell.experiment.document import MAX_SEED, ExperimentFile
from dumbbell.experiment.expect import ExpectSpec
from dumbbell.experiment.factors import Level
from dumbbell.experiment.locate import Locator
from dumbbell.experiment.network import SamplingSpec
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.repeats import MAX_REPEATS, RepeatsSpec
from dumbbell.experiment.sections import Sections
from dumbbell.experiment.source import Node, read
from dumbbell.runs import ExperimentInfo

MAX_RUNS = 1_000_000
MAX_TOTAL_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels.

    Attributes:
        levels: Factor → level as written.
        scenario: Canonical JSON.
        unsampled: Scenario without tables over time, for later repeats; None: all repeats keep
            them.
        sampled: Number of first repeats with tables over time; unused without `unsampled`.
        rtt_ns: Base RTT of each flow: sum of the fixed delays in both directions.
        duration_ns: Virtual time of a run.
    """

    levels: dict[str, str]
    scenario: str
    unsampled: str | None
    sampled: int
    rtt_ns: dict[str, int]
    duration_ns: int

    def scenario_of(self, repeat: int) -> str:
        """Scenario of a repeat, counted from 0."""
        return self.scenario if self.unsampled is None or repeat < self.sampled else self.unsampled


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment, ready to run.

    Attributes:
        info: Name, text, factors, repeats, seed.
        file: Path of the file, as the user named it.
        overrides: Levels and values of `set`, as written.
        cells: All combinations of levels.
        expect: Expectations on its results.
        enough: Rule that ends the repeats of a cell; None: their number is fixed.
        counts: Repeats of each cell; None: as many in every cell.
    """

    info: ExperimentInfo
    file: str
    overrides: dict[str, list[str]]
    cells: list[Cell]
    expect: tuple[ExpectSpec, ...] = ()
    enough: RepeatsSpec | None = None
    counts: tuple[int, ...] | None = None

    @property
    def flows(self) -> set[str]:
        """Names of the flows of all cells."""
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
    """Reads an experiment file and checks all its scenarios.

    Args:
        path: Path of the file, or a mapping with its contents.
        set: Factor → level or levels that replace its own; or path of a field → value.
        repeats: Number of repeats; None: as in the file.
        seed: Seed of the first repeat; None: as in the file.

    Raises:
        ExperimentError: First error, with file, line and field.
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


class Reading:
    """What a text with overrides says. It is never changed, so that calls share it.

    Attributes:
        design: Tree and factors.
        document: Contents of the first cell.
        first: The first cell, checked.
        whole: All cells, if they are kept for the next call.
    """

    def __init__(self, text: str, path: Path, chosen: Overrides) -> None:
        """Reads the first cell. Raises `ExperimentError`."""
        self.design = Design(text, path, chosen)
        self.folder = path.parent
        try:
            levels, tree = next(self.design.trees())
        except StopIteration:
            message, line = "there is no combination of levels", self.design.line("factors")
            raise ExperimentError(
                message, file=self.design.file, line=line, code=Code.FACTORS
            ) from None
        parts = Parts()
        self.document, built, scenario = _scenario(tree, self.design.file, self.folder, parts)
        self.first = _cell(levels, self.document, built, scenario)
        self._parts = parts if self.design.varied.count() > 1 else Parts()
        self.whole: list[Cell] | None = None

    def cells(self, begin: int, end: int | None) -> Iterator[Cell]:
        """See :meth:`Opened.cells`."""
        design = self.design
        sections, parts = Sections(design.root, design.varied), self._parts.copy()
        for number, levels in enumerate(islice(design.varied.cells(), begin, end), begin):
            if number == 0:
                sections.keep(levels, self.document)
                yield self.first
                continue
            document, built, scenario = self._cell(levels, sections, parts)
            sections.keep(levels, document)
            yield _cell(levels, document, built, scenario)

    def _cell(
        self, levels: Mapping[str, Level], sections: Sections, parts: Parts
    ) -> tuple[ExperimentFile, Built, str]:
        try:
            document = ExperimentFile.model_validate(sections.given(levels))
            built = build(document, self.folder, parts)
            scenario = canonical(built.scenario)
            _core.validate(scenario)
        except (ValidationError, BuildError, _core.ScenarioError, cells.PathError):
            # Read alone, the cell is refused again, with line and field.
            tree = self.design.tree(levels)
            return _scenario(tree, self.design.file, self.folder, Parts())
        return document, built, scenario


#: Readings of the last texts: a call in a loop reads its experiment once.
_READINGS: dict[tuple[str, str, str], Reading] = {}
_MAX_READINGS = 16
#: Maximum length of a text and of all scenarios of a reading that is kept, in characters.
_MAX_TEXT, _MAX_SCENARIOS = 16 << 10, 4 << 20


def _reading(text: str, path: Path, chosen: Overrides) -> Reading:
    written = repr(as_written(chosen))
    key = text, str(path), written
    if key in _READINGS:
        return _READINGS[key]
    made = Reading(text, path, chosen)
    large = len(text) > _MAX_TEXT or len(made.first.scenario) > _MAX_SCENARIOS
    if not (large or _may_read_files(text) or _may_read_files(written)):
        if len(_READINGS) >= _MAX_READINGS:
            _READINGS.clear()
        _READINGS[key] = made
    return made


def _may_read_files(text: str) -> bool:
    """Returns true if a text may name a trace file, whose contents may change between calls."""
    return "trace" in text or "\\" in text  # an escape may spell the word


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
        design: Tree, factors and space of the search.
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
        self._reading = _reading(text, path, set or {})
        design, first = self._reading.design, self._reading.document
        self.overrides, levels = dict(design.overrides), design.varied.levels
        self.count = design.varied.count()
        self.factors_line = design.line("factors")
        self.expect = tuple(first.expect)
        varies = repeats is None and first.repeats.until is not None
        self.enough = first.repeats if varies else None
        self.search, self.design = first.search, design
        self.info = ExperimentInfo(
            name=first.name,
            yaml=text,
            factors={name: [one.label for one in own] for name, own in levels.items()},
            repeats=_bounded(
                "repeats", first.repeats.max if repeats is None else repeats, 1, MAX_REPEATS
            ),
            seed=_bounded("seed", first.seed if seed is None else seed, 0, MAX_SEED),
        )
        if self.info.repeats * self.count > MAX_RUNS:
            message = f"{self.info.repeats * self.count} runs, more than {MAX_RUNS}"
            line = design.line("repeats") or self.factors_line
            raise ExperimentError(message, file=self.file, line=line, code=Code.CELLS)

    @property
    def has_access_links(self) -> bool:
        """Returns true if a link of the first cell is a model of an access link."""
        return any(link.access is not None for link in self._reading.document.links)

    def cells(self, begin: int = 0, end: int | None = None) -> Iterator[Cell]:
        """Checked cells from number `begin` to before `end`. Shared sections are read once."""
        return self._reading.cells(begin, end)

    def all_cells(self) -> list[Cell]:
        """All cells, checked. Raises `ExperimentError` if their scenarios are too large."""
        if self._reading.whole is not None:
            return list(self._reading.whole)
        done: list[Cell] = []
        for cell in self.cells():
            done.append(cell)
            if len(done[0].scenario) * self.count > MAX_TOTAL_BYTES:
                message = f"{self.count} combinations of a large network; take fewer"
                line = self.factors_line
                raise ExperimentError(
                    message, file=self.file, line=line, field="factors", code=Code.CELLS
                )
        if sum(len(cell.scenario) for cell in done) <= _MAX_SCENARIOS:
            self._reading.whole = done
        return list(done)


def explain(experiment: Experiment, cell: int, error: _core.ScenarioError) -> ExperimentError:
    """Error of an engine, with line and field of the experiment file.

    Args:
        experiment: Experiment as loaded.
        cell: Index of the refused cell.
        error: Error of the engine.
    """
    path, code = Path(experiment.file), getattr(error, "code", None)
    plan = Design(experiment.info.yaml, path, experiment.overrides)
    for number, (_, tree) in enumerate(plan.trees()):
        if number == cell:
            _, built, _ = _scenario(tree, experiment.file, path.parent, Parts())
            locator = Locator(experiment.file, tree)
            return locator.refused(error.path, error.message, built.origins, code)
    return ExperimentError(f"{error.path}: {error.message}", file=experiment.file, code=code)


def _cell(
    levels: Mapping[str, Level], document: ExperimentFile, built: Built, scenario: str
) -> Cell:
    labels = {name: level.label for name, level in levels.items()}
    sampling = document.sampling
    unsampled, repeats = None, None if sampling is None else sampling.repeats
    if sampling is not None and repeats is not None and _records(sampling):
        # Metrics need probes in every repeat.
        bare = dict.fromkeys(("samples", "queues", "drops"), False)
        bare["probes"] = "probes" in sampling.keep
        none = dict.fromkeys(("packets", "hops", "capture"))
        kept = {"interval_ns": sampling.interval, **bare, **none}
        unsampled = canonical({**built.scenario, "sampling": kept})
    return Cell(
        labels,
        scenario,
        unsampled,
        repeats or 0,
        built.rtt_ns,
        document.duration,
    )


def _records(sampling: SamplingSpec) -> bool:
    return bool(sampling.keep or sampling.packets or sampling.hops or sampling.capture)


def canonical(scenario: Mapping[str, Any]) -> str:
    """Canonical JSON text of a scenario: sorted keys, no spaces."""
    return orjson.dumps(scenario, option=orjson.OPT_SORT_KEYS).decode()


def _bounded(name: str, value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    message = f"should be a whole number from {low} to {high}"
    raise ExperimentError(message, file=f"--{name}", found=str(value), code=Code.OPTION)


def _scenario(
    tree: Node, file: str, folder: Path, parts: Parts
) -> tuple[ExperimentFile, Built, str]:
    """Document of one cell, its scenario, and the scenario's canonical JSON text."""
    locator = Locator(file, tree)
    plain = tree.plain()
    plain.pop("factors", None)
    try:
        document = ExperimentFile.model_validate(plain)
        built = build(document, folder, parts)
        scenario = canonical(built.scenario)
        _core.validate(scenario)
    except ValidationError as error:
        raise locator.invalid(error) from None
    except BuildError as error:
        raise locator.misbuilt(error) from None
    except _core.ScenarioError as error:
        raise locator.refused(error.path, error.message, built.origins) from None
    return document, built, scenario
