"""Figures: what is drawn, in every form, and what is refused."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

import dumbbell
from dumbbell.figures import Extras, Figure, plot
from dumbbell.figures.figure import json_safe, page_scripts, script_safe
from dumbbell.figures.theme import THEMES, ThemeName, config
from dumbbell.figures.thinning import thinned
from dumbbell.results import Results
from dumbbell.vega.drawing import VEGA_LITE, Drawer
from tests import synthetic


@pytest.fixture(scope="module")
def delay() -> Results:
    return synthetic.multipath("delay", repeats=2)


@pytest.fixture(scope="module")
def single() -> Results:
    return synthetic.multipath("single-vs-multi", repeats=2)


def rows_of(figure: Figure) -> list[dict[str, object]]:
    """The points of a chart's first data."""
    found = figure.spec["layer"][0].get("data") or figure.spec["data"]
    assert isinstance(found["values"], list)
    return list(found["values"])


@pytest.mark.slow
def test_goodput_has_a_point_with_an_interval_per_cell(delay: Results) -> None:
    figure = plot(delay, "goodput")
    rows = rows_of(figure)
    assert len(rows) == 40
    assert {row["series"] for row in rows} == {"Reno", "BIC", "CUBIC", "BBR"}
    assert {row["x"] for row in rows} == set(range(10, 101, 10))
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)  # type: ignore[operator]
    text = json.dumps(figure.spec)
    assert "Goodput (Mbit/s)" in text
    assert "Link delay (ms)" in text


@pytest.mark.slow
def test_published_points_and_bounds_stand_beside_ours(delay: Results) -> None:
    extras = Extras(
        published=[{"x": "10 ms", "series": "bbr", "value": 18.69}],
        line=[{"value": 18}],
        line_label="published: above 18",
    )
    svg = plot(delay, "goodput", extras=extras).svg()
    assert "published: above 18" in svg


def test_rtt_shows_the_round_trip_without_queues(delay: Results) -> None:
    figure = plot(delay, "rtt")
    line = next(
        layer["data"]["values"]
        for layer in figure.spec["layer"]
        if layer["mark"].get("style") == "reference"
    )
    assert [row["value"] for row in line] == pytest.approx([float(x) for x in range(10, 101, 10)])


def test_window_has_a_panel_per_algorithm_with_bdp_and_losses(delay: Results) -> None:
    figure = plot(delay, "window", by="cc", where={"delay": "100 ms"})
    assert figure.panels == 4
    frame = pl.read_csv(figure.spec["data"]["values"].encode(), infer_schema_length=None)
    assert set(frame["panel"]) == {"Reno", "BIC", "CUBIC", "BBR"}
    bdp = frame["bdp"].drop_nulls().unique().to_list()
    assert bdp == [pytest.approx(20e6 * 0.1 / 8 / 1514, abs=0.01)]
    losses = frame.filter(pl.col("loss").is_not_null())
    assert "BBR" not in set(losses["panel"])
    assert losses.height > 20
    assert frame["time"].drop_nulls().max() <= 100  # type: ignore[operator]


def test_any_metric_makes_a_figure(single: Results) -> None:
    figure = plot(single, "sack_blocks")
    assert {row["x"] for row in rows_of(figure)} == {"single", "multi"}
    assert '"title": "SACK blocks"' in json.dumps(figure.spec)  # its unit is in its name


@pytest.mark.parametrize("theme", list(THEMES))
def test_one_specification_gives_svg_in_both_themes(single: Results, theme: ThemeName) -> None:
    svg = plot(single, "sack_blocks").svg(theme)
    ET.fromstring(svg)
    assert THEMES[theme].series[0] in svg


def test_a_narrow_figure_stacks_its_panels(delay: Results) -> None:
    figure = plot(delay, "window", by="cc", where={"delay": "10 ms"})
    assert figure.specification(width=360)["columns"] == 1
    assert figure.specification(width=800)["columns"] == 2


@pytest.mark.slow
def test_figures_are_saved_as_their_suffix_says(single: Results, tmp_path: Path) -> None:
    figure = plot(single, "goodput")
    assert figure.save(tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    assert figure.save(tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<svg")
    page = figure.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Goodput" in page
    assert not re.search(r'(src|href)="https?:', page)
    assert json.loads(figure.save(tmp_path / "x.json").read_text(encoding="utf-8"))["layer"]
    with pytest.raises(ValueError, match=r"\.svg, \.pdf, \.png, \.html or \.json"):
        figure.save(tmp_path / "x.gif")


def test_the_same_tables_give_the_same_bytes(single: Results) -> None:
    assert plot(single, "goodput").svg() == plot(single, "goodput").svg()


def test_what_cannot_be_drawn_says_why(delay: Results, single: Results) -> None:
    with pytest.raises(ValueError, match="no figure 'godput'"):
        plot(delay, "godput")
    with pytest.raises(ValueError, match="no factor 'rate'"):
        plot(delay, "goodput", x="rate")
    with pytest.raises(ValueError, match="no level of cc 'vegas'; there are reno, bic, cubic, bbr"):
        plot(delay, "goodput", where={"cc": "vegas"})
    with pytest.raises(ValueError, match="fix"):
        plot(delay, "window", by="cc")
    with pytest.raises(ValueError, match="no samples"):
        plot(synthetic.multipath("delay", 1, samples=False), "window")
    assert plot(single, "window", by="cc", where={"routing": "multi"}).panels == 4


@given(st.lists(st.floats(-1e6, 1e6), max_size=400), st.integers(4, 60))
def test_thinning_keeps_the_extremes_and_the_ends(values: list[float], most: int) -> None:
    kept = thinned(values, most)
    assert len(kept) <= max(most, 0) or len(values) <= most
    assert list(kept) == sorted(set(kept))
    if values:
        y = np.array(values)
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
        assert y[kept].max() == y.max()
        assert y[kept].min() == y.min()


def _luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", list(THEMES.values()))
def test_colours_stand_out_from_the_ground(theme: object) -> None:
    found = next(one for one in THEMES.values() if one is theme)
    ground = _luminance(found.ground)
    for color, least in [(found.text, 7.0), (found.faint, 4.5), (found.alarm, 4.5)] + [
        (color, 3.0) for color in found.series
    ]:
        light, dark = sorted((_luminance(color), ground), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least, color


def test_configurations_differ_in_colours_alone() -> None:
    light, dark = config("light"), config("dark")
    assert light.keys() == dark.keys()
    assert light["axis"]["labelFontSize"] >= 12  # readable on a phone


def test_nothing_in_a_script_ends_its_element() -> None:
    assert json_safe('"</script>"') == '"\\u003c/script>"'
    assert json.loads(json_safe('"</script>"')) == "</script>"
    assert "</script" not in script_safe('let x = "</SCRIPT>";').lower()
    with pytest.raises(ValueError, match="<!--"):
        script_safe("<!-- x")
    assert page_scripts().count("</script>") == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["goodput", "rtt", "sack_blocks", "window"])
def test_specifications_fit_vega_lites_schema(kind: str, single: Results, delay: Results) -> None:
    figure = (
        plot(single, kind, where={"routing": "multi"}, by="cc")
        if kind == "window"
        else plot(delay, kind)
    )
    alt.Chart.from_dict(figure.spec)  # checks it


def test_drawings_are_of_the_version_of_the_specifications() -> None:
    assert alt.SCHEMA_VERSION.startswith(f"v{VEGA_LITE}.")


@pytest.mark.slow
def test_a_drawer_gives_what_is_drawn_at_once(single: Results) -> None:
    figure = plot(single, "window", where={"routing": "multi"}, by="cc")
    with Drawer() as drawer:
        apart, here = (
            re.sub(r"clip\d+", "clip", one) for one in (figure.begin(drawer).result(), figure.svg())
        )
        assert apart == here  # but for the numbers that a process gives its clips
    with pytest.raises(KeyError), Drawer() as killed:
        begun = killed.draw(figure.spec)
        raise KeyError
    assert begun.done()


def test_the_schema_is_strict() -> None:
    with pytest.raises(ValidationError):
        alt.Chart.from_dict({"mark": "wiggle", "encoding": {}})


def test_an_axis_names_the_parameter_that_a_factor_of_queues_varies(tmp_path: Path) -> None:
    text = """\
dumbbell: 1
name: targets
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, forward: {queue: $queue}}}
flows: [{from: s1, to: d1, tcp: cubic}]
factors:
  queue:
    - {label: 1 ms, value: {codel: {target: 1 ms, interval: 25 ms}}}
    - {label: 5 ms, value: {codel: {target: 5 ms, interval: 100 ms}}}
duration: 1 s
"""
    file = tmp_path / "targets.yaml"
    file.write_text(text, encoding="utf-8")
    figure = plot(dumbbell.run(file), "goodput")
    assert "CoDel target (ms)" in json.dumps(figure.spec)
    assert figure.title == "Goodput against CoDel target"
    file.write_text(text.replace("label: 5 ms", "label: 6 ms"), encoding="utf-8")
    assert "Queue (ms)" in json.dumps(plot(dumbbell.run(file), "goodput").spec)


LOSSES = """\
dumbbell: 1
name: losses
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP, forward: {loss: $loss}}}
flows: [{from: s1, to: d1, tcp: reno}]
duration: 1 s
factors: {loss: LEVELS}
sampling: none
"""


@pytest.mark.parametrize(
    ("levels", "kind"),
    [("[0.01 %, 0.03 %, 0.1 %, 1 %]", "log"), ("[0.1 %, 0.5 %, 1 %]", None), ("[0 %, 1 %]", None)],
)
def test_levels_over_more_than_a_decade_have_a_logarithmic_axis(
    levels: str, kind: str | None, tmp_path: Path
) -> None:
    (tmp_path / "e.yaml").write_text(LOSSES.replace("LEVELS", levels), encoding="utf-8")
    figure = plot(dumbbell.run(tmp_path / "e.yaml"), "goodput")
    x = figure.spec["layer"][0]["encoding"]["x"]
    assert x["scale"].get("type") == kind
    svg = figure.svg()
    for level in levels.strip("[]").split(", "):
        assert f">{level.removesuffix(' %')}<" in svg  # each level has its own label
