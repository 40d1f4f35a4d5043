"""Translation of an experiment file to its scenarios, all checked before a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from dumbbell import _core
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment import cells, factors
from dumbbell.experiment.build import Built, Parts, build
from dumbbell.experiment.document import MAX_SEED, ExperimentFile
from dumbbell.experiment.expect import ExpectSpec
from dumbbell.experiment.factors import Factors, Level
from dumbbell.experiment.locate import SET, Locator
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.sections import Sections
from dumbbell.experiment.source import Node, parse, read
from dumbbell.results import ExperimentInfo

MAX_RUNS = 1_000_000
MAX_TOTAL_BYTES = 2 << 30

Overrides = Mapping[str, str | int | float | bool | Sequence[str]]


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
    """

    info: ExperimentInfo
    file: str
    overrides: dict[str, list[str]]
    cells: list[Cell]
    expect: tuple[ExpectSpec, ...] = ()


def reserved_names() -> frozenset[str]:
    """Names that factors cannot have: the columns of result tables."""
    tables = json.loads(_core.tables())
    columns = {column["name"] for table in tables for column in table["columns"]}
    own = {"run", "repeat", "seed", "engine", "engine_version", "digest", "wall_s", "packets"}
    of_summaries = {"value", "mean", "low", "high", "count"}
    return frozenset(columns | own | of_summaries | {"events", "scenario"})


def load(
    path: str | Path,
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
) -> Experiment:
    """Reads an experiment file and checks all its scenarios.

    Args:
        path: Path of the file.
        set: Factor → level or levels that replace its own; or path of a field → value.
        repeats: Number of repeats; None: as in the file.
        seed: Seed of the first repeat; None: as in the file.

    Raises:
        ExperimentError: First error, with file, line and field.
    """
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
    done: list[Cell] = []
    for cell in opened.cells():
        done.append(cell)
        if len(done[0].scenario) * opened.count > MAX_TOTAL_BYTES:
            message = f"{opened.count} combinations of a large network; take fewer"
            line = opened.factors_line
            raise ExperimentError(message, file=opened.file, line=line, field="factors")
    return Experiment(opened.info, opened.file, opened.overrides, done, opened.expect)


class Opened:
    """An experiment file. The first cell is checked at once, the others on demand.

    Attributes:
        info: Name, text, factors, repeats, seed.
        file: Path of the file, as the user named it.
        overrides: Levels and values of `set`, as written.
        count: Number of cells.
        expect: Expectations on its results.
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
        self._plan = _Plan(text, path, set or {})
        self._folder = path.parent
        self.overrides, varied = self._plan.overrides, self._plan.varied
        self.count = varied.count()
        self.factors_line = self._plan.line("factors")
        try:
            _, tree = next(self._plan.trees())
        except StopIteration:
            message = "there is no combination of levels"
            raise ExperimentError(message, file=self.file, line=self.factors_line) from None
        first, _ = _scenario(tree, self.file, self._folder)
        self.expect = tuple(first.expect)
        self.info = ExperimentInfo(
            name=first.name,
            yaml=text,
            factors={name: [one.label for one in own] for name, own in varied.levels.items()},
            repeats=_bounded("repeats", first.repeats if repeats is None else repeats, 1, 100_000),
            seed=_bounded("seed", first.seed if seed is None else seed, 0, MAX_SEED),
        )
        if self.info.repeats * self.count > MAX_RUNS:
            message = f"{self.info.repeats * self.count} runs, more than {MAX_RUNS}"
            line = self._plan.line("repeats") or self.factors_line
            raise ExperimentError(message, file=self.file, line=line)

    def cells(self, begin: int = 0, end: int | None = None) -> Iterator[Cell]:
        """Checked cells from number `begin` to before `end`. Shared sections are read once."""
        sections, parts = Sections(self._plan.root, self._plan.varied), Parts()
        for levels in islice(self._plan.varied.cells(), begin, end):
            try:
                document = ExperimentFile.model_validate(sections.given(levels))
                built = build(document, self._folder, parts)
                scenario = canonical(built.scenario)
                _core.validate(scenario)
            except (ValidationError, BuildError, _core.ScenarioError, cells.PathError):
                # Read alone, the cell is refused again, with line and field.
                document, built = _scenario(self._plan.tree(levels), self.file, self._folder)
                scenario = canonical(built.scenario)
            sections.keep(levels, document)
            yield _cell(levels, document, built, scenario)


def explain(experiment: Experiment, cell: int, error: _core.ScenarioError) -> ExperimentError:
    """Error of an engine, with line and field of the experiment file.

    Args:
        experiment: Experiment as loaded.
        cell: Index of the refused cell.
        error: Error of the engine.
    """
    path = Path(experiment.file)
    plan = _Plan(experiment.info.yaml, path, experiment.overrides)
    for number, (_, tree) in enumerate(plan.trees()):
        if number == cell:
            _, built = _scenario(tree, experiment.file, path.parent)
            locator = Locator(experiment.file, tree)
            return locator.refused(error.path, error.message, built.origins)
    return ExperimentError(f"{error.path}: {error.message}", file=experiment.file)


class _Plan:
    """Tree and factors of a file."""

    def __init__(self, text: str, path: Path, chosen: Overrides) -> None:
        self.file = str(path)
        root = parse(text, self.file)
        if not isinstance(root.value, dict):
            message = "an experiment is a mapping of fields"
            raise ExperimentError(message, file=self.file, line=root.line)
        if "dumbbell" not in root.value:
            message = "no experiment of Dumbbell: the file should begin with 'dumbbell: 1'"
            raise ExperimentError(message, file=self.file, line=root.line)
        self.varied = factors.read(root.value.get("factors"), self.file, reserved_names())
        self.root, self.overrides = _override(root, self.varied, chosen)
        cells.check_references(self.root, self.varied, self.file)
        found = self.varied.paths
        self.paths = {name: [target for target, _ in targets] for name, targets in found.items()}

    def trees(self) -> Iterator[tuple[dict[str, Level], Node]]:
        """All combinations of levels with their trees."""
        for levels in self.varied.cells():
            yield levels, self.tree(levels)

    def tree(self, levels: Mapping[str, Level]) -> Node:
        """Tree of a cell."""
        return _tree(self.root, levels, self.paths, self.varied, self.file)

    def line(self, field: str) -> int | None:
        """Line of a top-level field; None: the file does not write it."""
        return self.root.key_lines.get(field) or None


def _cell(
    levels: Mapping[str, Level], document: ExperimentFile, built: Built, scenario: str
) -> Cell:
    labels = {name: level.label for name, level in levels.items()}
    sampling = document.sampling
    unsampled = None
    recorded = sampling.keep or sampling.packets or sampling.hops or sampling.capture
    if sampling.repeats is not None and recorded:
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
        sampling.repeats or 0,
        built.rtt_ns,
        document.duration,
    )


def canonical(scenario: Mapping[str, Any]) -> str:
    """Canonical JSON text of a scenario: sorted keys, no spaces."""
    return orjson.dumps(scenario, option=orjson.OPT_SORT_KEYS).decode()


def _bounded(name: str, value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    message = f"should be a whole number from {low} to {high}"
    raise ExperimentError(message, file=f"--{name}", found=str(value))


def _override(root: Node, varied: Factors, chosen: Overrides) -> tuple[Node, dict[str, list[str]]]:
    done: dict[str, list[str]] = {}
    for name, value in chosen.items():
        texts = list(value) if isinstance(value, list | tuple) else [_text(value)]
        done[name] = [str(text) for text in texts]
        if not texts:
            raise ExperimentError("no level is given", file=f"{SET} {name}")
        nodes = [_outside(parse(str(text), f"{SET} {name}={text}")) for text in texts]
        if name in varied.levels:
            known = {level.label: level for level in varied.levels[name]}
            labels = [(" ".join(node.text.split()), node) for node in nodes]
            levels = [known.get(label, Level(label, node)) for label, node in labels]
            factors.restrict(varied, name, levels)
            continue
        if len(nodes) != 1:
            raise ExperimentError("a field takes one value", file=f"{SET} {name}")
        root = _assign(root, name, nodes[0], tuple(varied.levels))
    return root, done


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _outside(node: Node) -> Node:
    """Copy of a node from outside a file: every line is 0."""
    if isinstance(node.value, dict):
        inner = {key: _outside(child) for key, child in node.value.items()}
        return Node(inner, node.text, 0, dict.fromkeys(inner, 0))
    if isinstance(node.value, list):
        return Node([_outside(child) for child in node.value], node.text, 0)
    return Node(node.value, node.text, 0)


def _assign(root: Node, name: str, value: Node, known: tuple[str, ...]) -> Node:
    fields = tuple(one for one in ExperimentFile.names() if one not in ("factors", "dumbbell"))
    try:
        steps = cells.steps(name)
        if steps[0] not in fields:
            raise ValueError(name)
        return cells.assign(root, steps, value)
    except LookupError as error:
        message = f"no such field: {error.args[0]}"
        raise ExperimentError(message, file=f"{SET} {name}") from None
    except ValueError:
        near = nearest_name(name, (*known, *fields))
        raise ExperimentError(
            "neither a factor nor a field", file=f"{SET} {name}", allowed=known, nearest=near
        ) from None


def _tree(
    root: Node,
    levels: Mapping[str, Level],
    paths: Mapping[str, Sequence[str]],
    varied: Factors,
    file: str,
) -> Node:
    try:
        return cells.substitute(root, levels, paths)
    except cells.PathError as error:
        lines = dict(varied.paths[error.factor])
        raise ExperimentError(
            error.message,
            file=file,
            line=lines.get(error.path) or None,
            field=f"factors.{error.factor}.path",
            found=shortened(error.path),
        ) from None


def _scenario(tree: Node, file: str, folder: Path) -> tuple[ExperimentFile, Built]:
    """Document and scenario of one cell."""
    locator = Locator(file, tree)
    plain = tree.plain()
    plain.pop("factors", None)
    try:
        document = ExperimentFile.model_validate(plain)
        built = build(document, folder)
        _core.validate(canonical(built.scenario))
    except ValidationError as error:
        raise locator.invalid(error) from None
    except BuildError as error:
        raise locator.misbuilt(error) from None
    except _core.ScenarioError as error:
        raise locator.refused(error.path, error.message, built.origins) from None
    return document, built
