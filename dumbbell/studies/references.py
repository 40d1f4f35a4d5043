"""References of a study: numbers of another origin, and how our cells are named there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dumbbell.compare.agreement import Criterion, Layout


class Strict(BaseModel):
    """Fields of a study file: no others are allowed, none changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ReferencePart(Strict):
    """The experiment that is set up as the reference was, and the names of its cells there.

    `cell`: columns of the reference's file, with the levels they hold. `name`: a cell in words,
    made of `part` and these columns.
    """

    experiment: str
    cell: dict[str, str]
    name: str
    #: Fields of the experiment with another value, as `--set` takes them.
    set: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> ReferencePart:
        try:
            self.name.format_map({"part": "", **self.cell})
        except (KeyError, ValueError, IndexError) as error:
            known = ", ".join(["part", *self.cell])
            raise ValueError(f"name {self.name!r}: {error}; a cell has {known}") from None
        return self


class CriterionFields(Strict):
    """Criterion of agreement with a reference; see `dumbbell.compare.agreement.Criterion`."""

    label: str
    metric: str | None = None
    share: float = 0.0
    units: float = 0.0
    factor: float = 0.0
    without: list[str] = Field(default_factory=list)


class Reference(Strict):
    """Numbers of another origin for the same cells (`dumbbell.compare.agreement`)."""

    title: str
    file: str
    flows: dict[str, str]
    #: Flow of the reference → the column that names its algorithm.
    algorithms: dict[str, str]
    #: Column of the reference → when it agrees.
    criteria: dict[str, CriterionFields]
    parts: dict[str, ReferencePart]
    #: Parts that it ran as the study did, so that claims can be judged on its numbers too.
    claims: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_layout(self) -> Reference:
        columns = {tuple(part.cell) for part in self.parts.values()}
        if len(columns) != 1:
            raise ValueError("every part names its cells by the same columns, in the same order")
        return self

    @property
    def layout(self) -> Layout:
        """Columns, criteria and names, as the comparison needs them."""
        return Layout(
            columns=("part", *next(iter(self.parts.values())).cell),
            criteria=tuple(
                Criterion(
                    column,
                    one.label,
                    one.metric or column,
                    one.share,
                    one.units,
                    one.factor,
                    tuple(one.without),
                )
                for column, one in self.criteria.items()
            ),
            algorithms=self.algorithms,
            names={part: one.name for part, one in self.parts.items()},
        )
