"""Answers of the server: JSON, figures, tables, errors; numbers of requests."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
import polars as pl
from starlette.responses import Response

from dumbbell.errors import DumbbellError, shortened
from dumbbell.figures import Figure
from dumbbell.store.records import SHORT_ID, Record
from dumbbell.studies.names import names_for


def json(found: Any) -> Response:
    """JSON; NaN becomes null."""
    return Response(orjson.dumps(found), media_type="application/json")


def error(words: str, status: int) -> Response:
    """An error as JSON."""
    return Response(orjson.dumps({"error": words}), status, media_type="application/json")


def whole(text: str, name: str) -> int:
    """A whole number of a request. Raises `DumbbellError` for another text."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise DumbbellError(f"{name}: should be a whole number, found {shortened(text, 30)!r}")
    return int(text)


def number(text: str, name: str) -> float:
    """A number of a request. Raises `DumbbellError` for another text."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < 1e9:
        raise DumbbellError(f"{name}: should be a time in s, found {shortened(text, 30)!r}")
    return found


def table(frame: pl.DataFrame, form: str) -> Response:
    """A table as a file."""
    if form == "csv":
        return _file(frame.write_csv().encode(), "text/csv", "runs.csv")
    if form == "parquet":
        data = io.BytesIO()
        frame.write_parquet(data)
        return _file(data.getvalue(), "application/vnd.apache.parquet", "runs.parquet")
    raise DumbbellError("format: should be csv or parquet")


def figure(drawn: Figure, form: str, stem: str, theme: str) -> Response:
    """A figure as a file: SVG, PNG, or the points that it draws as CSV."""
    if theme not in ("light", "dark"):
        raise DumbbellError("theme: should be light or dark")
    stem = "".join(sign if sign.isalnum() else "-" for sign in stem)[:60]
    if form == "svg":
        svg = drawn.svg("dark" if theme == "dark" else "light", titled=True)
        return _file(svg.encode(), "image/svg+xml", f"{stem}.svg")
    if form == "png":
        png = drawn.png("dark" if theme == "dark" else "light", titled=True)
        return _file(png, "image/png", f"{stem}.png")
    if form == "csv":
        return _file(_points(drawn.spec).encode(), "text/csv", f"{stem}.csv")
    raise DumbbellError("format: should be svg, png or csv")


def _points(spec: Mapping[str, Any]) -> str:
    """Rows of the data sets of a figure, one below the other."""
    sets = _data(spec)
    texts = [values for values in sets if isinstance(values, str)]  # CSV already
    if texts:
        return "\n".join(texts)
    rows = [row for values in sets for row in values if isinstance(row, Mapping)]
    names = dict.fromkeys(name for row in rows for name in row)
    text = [[str(row.get(name, "")) for name in names] for row in rows]
    return pl.DataFrame(text, schema=dict.fromkeys(names, pl.String), orient="row").write_csv()


def _data(part: Any) -> list[Any]:
    """Values of all data sets in a specification."""
    if isinstance(part, Mapping):
        own = part.get("data")
        found = [own["values"]] if isinstance(own, Mapping) and "values" in own else []
        sets = part.get("datasets")
        found += list(sets.values()) if isinstance(sets, Mapping) else []
        inner = [value for key, value in part.items() if key not in ("data", "datasets")]
        return found + [one for value in inner for one in _data(value)]
    if isinstance(part, list):
        return [one for value in part for one in _data(value)]
    return []


def _file(data: bytes, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=kind, headers=headers)


@lru_cache(maxsize=256)
def may_be_of_study(name: str) -> bool:
    """Returns true if an experiment of this name may belong to a study."""
    return bool(names_for(name))


def marks(records: Sequence[Record]) -> dict[str, str]:
    """Time of the last run and id of each experiment that shares its name and engine."""
    names = Counter((one.info.name, one.engine) for one in records)
    found = {}
    for one in records:
        if names[one.info.name, one.engine] > 1:
            when = datetime.fromtimestamp(one.updated_ns / 1e9)
            found[one.id] = f"last run {when:%Y-%m-%d %H:%M}, {one.id[:SHORT_ID]}"
    return found
