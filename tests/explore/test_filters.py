"""The filter: what it takes, and that it is no SQL."""

from __future__ import annotations

import polars as pl
import pytest

from dumbbell.explore.filters import Filter, FilterError

FACTORS = {
    "cc": ["reno", "cubic", "bbr"],
    "rtt": ["500 us", "10 ms", "1 s"],
    "queue size": ["1", "10"],
}
ROWS = pl.DataFrame(
    {
        "place": range(3),
        "cc": FACTORS["cc"],
        "rtt": FACTORS["rtt"],
        "queue size": ["1", "10", "10"],
        "engine": ["sim"] * 3,
        "goodput": [1.0, float("nan"), 20.0],
    }
)


def fitting(text: str) -> list[int]:
    expression = Filter(text).expression(FACTORS, ["engine"], ["goodput"])
    rows = ROWS if expression is None else ROWS.filter(expression)
    return rows["place"].to_list()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [0, 1, 2]),
        ("  ", [0, 1, 2]),
        ("cc = cubic", [1]),
        ("cc=CUBIC", [1]),
        ("cc != cubic", [0, 2]),
        ("cc ~ b", [1, 2]),
        ("rtt >= 10 ms", [1, 2]),
        ("rtt<0.01 s", [0]),
        ("rtt = 10000us", [1]),
        ("goodput > 0", [0, 2]),
        ("goodput <= 1e0", [0]),
        ("cc = reno or cc = bbr", [0, 2]),
        ("cc = reno or cc = bbr and rtt = 1 s", [0, 2]),
        ("(cc = reno or cc = bbr) AND rtt = 1 s", [2]),
        ("not cc = reno", [1, 2]),
        ("not (cc = reno or goodput > 5)", [1]),
        ('"queue size" > 5', [1, 2]),
        ("'queue size' = '1'", [0]),
        ("engine = sim and engine ~ i", [0, 1, 2]),
        ("cc = nothing", []),
    ],
)
def test_rows_that_fit(text: str, places: list[int]) -> None:
    assert fitting(text) == places


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM runs",
        "select run from runs",
        "cc = cubic; DROP TABLE runs",
        "cc = cubic UNION SELECT 1",
        "cc = 'cubic' OR 1=1",
        "1=1",
        "cc = cubic --",
        "cc = cubic /* x */",
        "cc",
        "cc =",
        "= cubic",
        "cc == cubic",
        "cc = cubic and",
        "and",
        "(cc = cubic",
        "cc = cubic)",
        "cc < cubic",
        "rtt > 5 packets",
        "goodput = fast",
        "goodput ~ 1",
        "engine > sim",
        "nothing = 1",
        "__import__('os').system('x')",
        "pl.col('cc')",
        "cc = $(id)",
        "cc = `id`",
        "\x00",
        "not " * 400,
        "(" * 100 + "cc = cubic" + ")" * 100,
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(FilterError, match=r"^filter: "):
        fitting(text)
