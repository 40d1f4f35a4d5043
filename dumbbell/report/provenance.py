"""Provenance of numbers: engines, seeds, digests, experiment files, definitions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import polars as pl

from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.metrics import METRICS, Tables

#: Runs of an experiment above which its cells are listed in their place.
_MOST_RUNS = 1000


def method_section(metrics: Iterable[str], *, verdicts: bool = True) -> Markup:
    """The definitions of the metrics used, how repeats are summed up and claims judged."""
    entries = []
    for name in metrics:
        metric = METRICS[name]
        unit = f" Unit: {metric.unit}." if metric.unit else ""
        entries.append(tag("dt", metric.label))
        entries.append(
            tag(
                "dd",
                f"{metric.formula}.{unit} Measured at {metric.place}; over {metric.window}. "
                f"Source: {metric.source}.",
            )
        )
    statistics = (
        "Each value is the mean over repeats, which differ by their seed; ± and intervals are 95 % "
        "intervals of Student's t over the repeats. Differences and ratios are paired by repeat."
    )
    judged = (
        "Intervals of claims that are no mean or difference, as ratios, are the central 95 % of "
        "10 000 draws of the true means from Student's t (fixed seed). A claim is reproduced if "
        "the published value lies in our interval widened by the tolerance that the study file "
        "fixed beforehand, or if its ordering holds in at least 95 % of draws in all cases at "
        "once; not reproduced if it does not; within "
        "noise if our interval cannot tell it from its opposite; where a number was published of "
        "one run, it is reproduced if it lies in the central 95 % of our single runs; inconsistent "
        "in the source if the source contradicts itself. Numbers beside a verdict are of the case "
        "that decides."
    )
    return joined(
        [
            tag("p", statistics),
            *([tag("p", judged)] if verdicts else []),
            details("Definitions of what is measured", tag("dl", *entries, class_="facts")),
        ]
    )


def digest_of(results: Tables) -> str:
    """One digest for all runs of an experiment, whatever their order."""
    return _joint(results.runs["digest"].to_list())


def _joint(digests: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def provenance_section(parts: Mapping[str, Tables]) -> Markup:
    """Engine, versions, seeds, digests and size of each experiment, and all its runs."""
    return joined(_experiment(name, results) for name, results in parts.items())


def _experiment(title: str, results: Tables) -> Markup:
    runs = results.runs
    engines = runs.select("engine", "engine_version").unique().sort("engine").iter_rows()
    seeds = sorted(one for one in runs["seed"].to_list() if one >= 0)
    packets = runs["packets"].filter(runs["packets"] >= 0)
    wall_s = runs["wall_s"].drop_nans()
    facts = {
        "Engine": ", ".join(f"{engine} {version}" for engine, version in engines) or "none",
        "Runs": f"{runs.height}" + (f", with seeds {seeds[0]} to {seeds[-1]}" if seeds else ""),
        # Unknown of measured runs.
        "Packets": f"{packets.sum():,}".replace(",", "\u202f") if len(packets) else "",
        "Computing time": f"{wall_s.sum():.1f} s on one core" if len(wall_s) else "",
        "Digest of all runs": tag("code", digest_of(results)),
    }
    entries = (tag(n, v) for k, x in facts.items() if x for n, v in (("dt", k), ("dd", x)))
    listed = tag("dl", *entries, class_="facts")
    every = _runs(results) if runs.height <= _MOST_RUNS else _cells(results)
    return joined([tag("h3", title), listed, every])


def _runs(results: Tables) -> Markup:
    """Every run in a row."""
    factors = list(results.experiment.factors)
    head = [*factors, "repeat", "seed", "run", "digest"]
    rows = [
        [*values[:-2], *(tag("code", str(value)[:16]) for value in values[-2:])]
        for values in results.runs.select(*factors, "repeat", "seed", "run", "digest").iter_rows()
    ]
    return details("Every run with its digest", table(head, rows, left=len(factors)))


def _cells(results: Tables) -> Markup:
    """Every cell in a row, where there are too many runs for a page; a store lists them."""
    factors = list(results.experiment.factors)
    cells = results.runs.group_by(factors, maintain_order=True).agg(
        pl.len(), pl.col("seed").min().alias("from"), pl.col("seed").max().alias("to"), "digest"
    )
    rows = [[*values[:-1], tag("code", _joint(values[-1])[:16])] for values in cells.iter_rows()]
    head = [*factors, "runs", "seeds from", "to", "digest of all"]
    return details("Every cell with the digest of its runs", table(head, rows, left=len(factors)))
