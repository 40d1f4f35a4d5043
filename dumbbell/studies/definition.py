"""A study as data: parts, published tables, claims (`studies/<name>/study.yaml`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.experiment.source import parse, read
from dumbbell.files.input import read_file
from dumbbell.levels import levels_with
from dumbbell.metrics import metric_named
from dumbbell.studies.invalid import invalid
from dumbbell.studies.names import list_names, study_folders
from dumbbell.studies.references import Reference, Strict

#: Largest table of published numbers that is read.
MOST_BYTES = 1 << 26


class StudyError(DumbbellError):
    """A study that does not exist or does not say what it must; the message names the file."""

    code = Code.STUDY


def _texts(value: Any) -> Any:
    return {k: levels_with(v) for k, v in value.items()} if isinstance(value, Mapping) else value


Where = Annotated[dict[str, str], BeforeValidator(_texts)]


class Quantity(Strict):
    """A number measured in a part: a metric in one cell, or arithmetic over such numbers.

    Exactly one of `metric`, `number`, `ratio`, `difference`, `sum`, `lowest`, `highest`, `mean`.
    `where`
    names the level of every factor (and `flow`, where a run has several); those of the claim's
    `each` are added.
    """

    metric: str | None = None
    #: A constant, or `$name` for the level of that name in the case.
    number: float | str | None = None
    where: Where = Field(default_factory=dict)
    part: str | None = None
    ratio: tuple[Quantity, Quantity] | None = None
    difference: tuple[Quantity, Quantity] | None = None
    sum: list[Quantity] | None = None
    lowest: list[Quantity] | None = None
    highest: list[Quantity] | None = None
    mean: list[Quantity] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Quantity:
        kinds = ("metric", "number", "ratio", "difference", "sum", "lowest", "highest", "mean")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"a quantity is one of {', '.join(kinds)}; found {given or 'none'}")
        if self.metric is not None:
            metric_named(self.metric)
        return self


class Expectation(Strict):
    """Expectation of a claim: near the published value, within bounds, or a pattern.

    `single_run`: what was published is one run; it lies in the central 95 % of our single runs
    (with several cases: in ranges that hold all of them together in 95 %).

    `near`: the published value lies in the interval widened by `tolerance` (absolute, or a share
    as `"3 %"` of the published value). `above`, `below`, `between`: holds in at least 95 % of
    draws, in all cases at once. `opposite`: the value that the claim denies, if not simply
    "further off than the tolerance".
    """

    near: bool = False
    single_run: bool = False
    tolerance: float | str = 0.0
    opposite: float | None = None
    above: float | None = None
    below: float | None = None
    between: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Expectation:
        given = [self.near, self.single_run, self.above is not None, self.below is not None]
        if sum(given) + (self.between is not None) != 1:
            raise ValueError("an expectation is one of near, single_run, above, below, between")
        self.tolerance_around(1.0)
        return self

    def tolerance_around(self, published: float) -> float:
        """The tolerance in the unit of the quantity."""
        if isinstance(self.tolerance, str):
            number, _, sign = self.tolerance.partition("%")
            if _ != "%" or sign.strip():
                raise ValueError(f"a tolerance is a number or a share as '3 %': {self.tolerance!r}")
            return abs(published) * float(number) / 100
        return self.tolerance


def _cases(value: Any) -> Any:
    """`each` as a list of cases: a mapping of lists is their product."""
    if isinstance(value, Mapping):
        cases: list[dict[str, Any]] = [{}]
        for name, levels in value.items():
            cases = [{**case, name: level} for case in cases for level in levels]
        return cases
    return value


class Cause(Strict):
    """A candidate for why a claim is not reproduced, and the runs that tell.

    The claim is judged again, with its own expectation, where the candidate is removed: in the runs
    of another part (a variant), or measured in another way, or both.
    """

    #: What is thought to make the difference, and why.
    text: str
    #: The part in which it is removed; None: the claim's own.
    part: str | None = None
    #: What is measured there; None: the claim's own quantity.
    quantity: Quantity | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Cause:
        if self.part is None and self.quantity is None:
            raise ValueError("a cause names another part, or measures another quantity")
        return self


class Claim(Strict):
    """One statement of the source, and how it is checked."""

    id: str
    text: str
    part: str
    quantity: Quantity
    each: Annotated[list[Where], BeforeValidator(_cases)] = Field(default=[{}])
    unit: str = ""
    #: One number, one per case, a range, or columns of a published table.
    published: float | list[float] | PublishedRange | PublishedColumns | None = None
    expect: Expectation
    #: How the source contradicts itself here; the verdict is then fixed.
    inconsistent: str | None = None
    #: Where in the source it stands.
    source: str = ""
    #: Candidates for why it is not reproduced.
    causes: list[Cause] = Field(default_factory=list)

    @model_validator(mode="after")
    def _published_fits(self) -> Claim:
        if isinstance(self.published, list) and len(self.published) != len(self.each):
            raise ValueError(
                f"claim {self.id}: {len(self.each)} cases, {len(self.published)} published values"
            )
        if (self.expect.near or self.expect.single_run) and self.published is None:
            raise ValueError(f"claim {self.id}: near what? It has no published value")
        return self


class PublishedRange(Strict):
    """A published range, ends included."""

    range: tuple[float, float]


class PublishedColumns(Strict):
    """A published value per case, from the row of a table whose key columns equal the case."""

    table: str
    column: str
    over: str | None = None


def metrics_in(quantity: Quantity) -> list[str]:
    """The metrics that a quantity is made of."""
    if quantity.metric is not None:
        return [quantity.metric]
    kinds = ("ratio", "difference", "sum", "lowest", "highest", "mean")
    operands = (one for kind in kinds for one in getattr(quantity, kind) or ())
    return [name for one in operands for name in metrics_in(one)]


class Table(Strict):
    """A table of the study: published numbers with ours beside them, or ours alone."""

    title: str
    part: str
    published: str | None = None
    #: Key columns and the factors they hold.
    rows: dict[str, str]
    #: What is measured for each column; a row adds the levels of its keys.
    columns: dict[str, Quantity]


class Figure(Strict):
    """A figure of the report."""

    title: str
    part: str
    kind: str
    options: dict[str, Any] = Field(default_factory=dict)
    caption: str = ""
    #: Published bound or value drawn as a line, with its label.
    published: dict[str, Any] = Field(default_factory=dict)


class Animation(Strict):
    """Packets of some cells of a part, seen moving: a page per cell."""

    title: str
    part: str
    #: Level of each factor, but for those of `each`.
    where: Where = Field(default_factory=dict)
    #: Factors with the levels that each have a page.
    each: dict[str, list[str]] = Field(default_factory=dict)

    def cells(self) -> list[dict[str, str]]:
        """The levels of every page."""
        return [{**self.where, **case} for case in _cases(self.each)]


class Part(Strict):
    """One evaluation of a study, or a variant of one: the same file with some fields changed."""

    title: str
    experiment: str
    question: str = ""
    #: Fields of the experiment with another value, and factors with other levels, as `--set`
    #: takes them.
    set: dict[str, str | list[str]] = Field(default_factory=dict)

    @property
    def is_variant(self) -> bool:
        """True if it is run to try a cause; it has no tables or figures of its own."""
        return bool(self.set)


class Study(Strict):
    """A study: an experiment per part, published numbers, claims, figures."""

    study: str
    title: str
    question: str
    sources: list[str]
    testbed: str = ""
    parts: dict[str, Part]
    references: dict[str, Reference] = Field(default_factory=dict)
    tables: dict[str, Table] = Field(default_factory=dict)
    figures: dict[str, Figure] = Field(default_factory=dict)
    animations: dict[str, Animation] = Field(default_factory=dict)
    claims: list[Claim] = Field(default_factory=list)
    folder: Path = Field(default=Path(), exclude=True)

    @model_validator(mode="after")
    def _parts_exist(self) -> Study:
        users = {name: table.part for name, table in self.tables.items()}
        users |= {name: figure.part for name, figure in self.figures.items()}
        users |= {name: animation.part for name, animation in self.animations.items()}
        users |= {claim.id: claim.part for claim in self.claims}
        users |= {
            f"a cause of {claim.id}": cause.part
            for claim in self.claims
            for cause in claim.causes
            if cause.part is not None
        }
        for name, part in users.items():
            if part not in self.parts:
                raise ValueError(f"{name} is of part {part!r}; there are {list(self.parts)}")
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            twice = sorted({one for one in ids if ids.count(one) > 1})
            raise ValueError(f"claims with equal ids: {twice}")
        return self

    def published(self, table: str) -> list[dict[str, str]]:
        """The rows of a published table as texts; empty if it has none."""
        name = self.tables[table].published
        return read_csv(self.folder / name) if name else []


Claim.model_rebuild()


def read_csv(path: Path) -> list[dict[str, str]]:
    """A CSV file with a header, as rows of texts. Raises `StudyError`."""
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path}: no CSV: {error}") from None


def load_study(name: str | Path) -> Study:
    """The study of that name, or in that folder. Raises `StudyError`."""
    folder = Path(name)
    if not (folder / "study.yaml").is_file():
        found = [place / str(name) for place in study_folders()]
        found = [place for place in found if (place / "study.yaml").is_file()]
        if not found:
            known = ", ".join(sorted(list_names())) or "none"
            raise StudyError(f"no study {str(name)!r}; there are: {known}", code=Code.NO_STUDY)
        folder = found[0]
    path = folder / "study.yaml"
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read(path: Path, _changed_ns: int) -> Study:
    """The study in a file; read again only if the file has changed."""
    try:
        root = parse(read(path), str(path))
    except ExperimentError as error:
        raise StudyError(str(error), code=error.code) from None
    if not isinstance(root.value, dict):
        raise StudyError(f"{path}:{root.line}: a study is a mapping of fields")
    try:
        return Study.model_validate({**root.plain(), "folder": path.parent})
    except ValidationError as error:
        found = invalid(error, str(path), root)
        raise StudyError(str(found), code=found.code) from None
