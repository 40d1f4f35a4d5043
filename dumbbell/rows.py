"""Rows of result tables, selected by levels, runs or repeat; how many repeats there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

Where = Mapping[str, str | Sequence[str]]
"""Column → level or levels of the selected rows."""


def where_rows(frame: pl.DataFrame, where: Where) -> pl.DataFrame:
    """Rows with these levels. Raises `ValueError` for an unknown column."""
    for column, level in where.items():
        if column not in frame.columns:
            raise ValueError(f"no factor {column!r}; there are {', '.join(frame.columns)}")
        levels = [level] if isinstance(level, str) else list(level)
        frame = frame.filter(pl.col(column).cast(pl.String).is_in(levels))
    return frame


def parts_of(frame: pl.DataFrame, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    """A frame as the only part, see `Results.parts`; nothing of an empty one."""
    if not frame.is_empty():
        yield frame if columns is None else frame.select(list(dict.fromkeys(["run", *columns])))


def runs_of(frame: pl.DataFrame, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Rows of a frame, see `Results.of_runs`."""
    return frame.filter(pl.col("run").is_in(list(runs))).select("run", *columns)


def repeat_of(frame: pl.DataFrame, where: Where, repeat: int | None) -> pl.DataFrame:
    """Rows of a frame, see `Results.of_repeat`."""
    frame = where_rows(frame, where)
    if frame.is_empty():
        return frame
    shown = frame["repeat"].min() if repeat is None else repeat
    return frame.filter(pl.col("repeat") == shown)


def repeats_range(runs: pl.DataFrame, factors: Iterable[str]) -> tuple[int, int]:
    """Least and most repeats of a cell, see `Results.repeats_range`."""
    counts = runs.group_by(list(factors) or [pl.lit(0)]).len()["len"]
    least, most = counts.min(), counts.max()
    return (least, most) if isinstance(least, int) and isinstance(most, int) else (0, 0)


def repeats_words(repeats: tuple[int, int]) -> str:
    """`10 repeats`, or `5–40 repeats` where cells differ."""
    least, most = repeats
    return f"{least if least == most else f'{least}–{most}'} repeat{'s' * (most != 1)}"
