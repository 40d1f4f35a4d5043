"""The experiment file of what was found: fixed values, and expectations that hold for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.compare.expectations import check
from dumbbell.compare.samples import DESCRIPTIONS
from dumbbell.experiment.contents import SearchSpec
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.results import Results
from dumbbell.search.evaluate import Bench
from dumbbell.search.measure import Quantity, aim_of, quantity_of, rows_of
from dumbbell.search.points import Evaluation

#: Margin of an expectation of an optimum, as a share of the difference from the start.
_MARGIN = 0.1
#: Least margin, as a share of the value.
_LEAST_MARGIN = 0.02


def written(name: str, bench: Bench, repeats: int, start: Evaluation, found: Evaluation) -> str:
    """Text of an experiment file with the values of an evaluation.

    `start` and `found` have so many `repeats`. Its expectations are those of the metric and the
    constraints that hold for its runs, which are
    those of the evaluation.
    """
    spec = bench.spec
    title = f"{name}: {'worst case' if spec.attack is not None else 'best'}"
    plain = bench.text.fixed(title, found.point, repeats, spec.seed)
    results = bench.run(bench.load(plain), recorded=False)
    likely = [_of_aim(spec, results, start, found), *_of_constraints(spec, results)]
    full = bench.text.fixed(title, found.point, repeats, spec.seed, likely)
    holding, open_ones = [], []
    for expect, read in zip(likely, bench.load(full).expect, strict=True):
        judged = check(results, [read])
        holding += [expect] if all(one.holds for one in judged) else []
        open_ones += [one.words for one in judged if not one.holds]
    body = bench.text.fixed(title, found.point, repeats, spec.seed, holding)
    return _header(bench, start, found, open_ones) + body


def _header(bench: Bench, start: Evaluation, found: Evaluation, open_ones: list[str]) -> str:
    """Comment with what was found, and what its runs do not show of the constraints."""
    spec, aim = bench.spec, aim_of(bench.spec)
    what = "Worst case" if spec.attack is not None else "Best"
    unit = METRICS[aim.metric].unit
    unit = "" if unit == "share" else f" {unit}"
    interval = f"{number(found.value.low)} to {number(found.value.high)}"
    spread = f" ({interval}, {found.value.count} repeats)" if found.value.count > 1 else ""
    return (
        f"# {what} of {aim.title}, found by `dumbbell search {Path(bench.opened.file).name}`:\n"
        f"# {number(found.value.mean)}{unit}{spread}. The values of that file give "
        f"{number(start.value.mean)}{unit}.\n"
        "# `dumbbell check` of this file exits with 0 while it shows that.\n"
        + "".join(f"# Not shown by its runs, and not expected: {words}\n" for words in open_ones)
    )


def _of_aim(
    spec: SearchSpec, results: Results, start: Evaluation, found: Evaluation
) -> dict[str, Any]:
    """Expectation of the row that counts, with a margin towards the start."""
    aim = aim_of(spec)
    rows = _means(results, aim)
    row = max(rows, key=lambda one: one["value"] if aim.large_is_bad else -one["value"])
    tolerance = spec.attack.tolerance if spec.attack is not None else _MARGIN
    effect = abs(start.value.mean - found.value.mean) if start.measured else 0.0
    value = row["value"]
    margin = max(tolerance * effect, _LEAST_MARGIN * abs(value), 1e-6)
    side = "above" if spec.maximises else "below"
    bound = value - margin if spec.maximises else value + margin
    return {**_place(aim, row), side: float(f"{bound:.3g}")}


def _of_constraints(spec: SearchSpec, results: Results) -> Iterator[dict[str, Any]]:
    for one in spec.aim.subject_to:
        quantity = quantity_of(one)
        bounds = {name: getattr(one, name) for name in ("above", "below")}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        for row in _means(results, quantity):
            yield {**_place(quantity, row), **given}


def _means(results: Results, quantity: Quantity) -> list[dict[str, Any]]:
    """Mean over repeats of each thing that the metric measures, in each cell."""
    names = [*results.experiment.factors, *METRICS[quantity.metric].of]
    frame = rows_of(results, quantity)
    if not names:
        return [{"value": frame["value"].mean()}]
    return frame.group_by(names, maintain_order=True).agg(pl.col("value").mean()).to_dicts()


def _place(quantity: Quantity, row: dict[str, Any]) -> dict[str, Any]:
    """Metric, flow and levels of a row, as fields of an expectation."""
    others = ("value", "flow", *DESCRIPTIONS)
    where = {name: str(level) for name, level in row.items() if name not in others}
    flow = {"flow": row["flow"]} if "flow" in row else {}
    return {"metric": quantity.metric, **flow, **({"where": where} if where else {})}
