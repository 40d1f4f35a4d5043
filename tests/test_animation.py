"""Animations: what is drawn equals the tables, in a real browser where one is installed."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.animation.command import Wanted, animate
from dumbbell.animation.page import page
from dumbbell.animation.scene import Scene
from dumbbell.animation.sources import scene_of_run, scene_of_trace
from dumbbell.animation.study import animate_study
from dumbbell.console import err
from dumbbell.errors import DumbbellError
from dumbbell.layout import places
from dumbbell.report.animations import animations_section
from dumbbell.results import Results
from dumbbell.studies import load_study
from dumbbell.trace.write import write_traces
from tests.browser import needs_browser, opened

#: Two flows that lose packets, one more of datagrams; queues sampled at times of no event.
EXPERIMENT = """\
dumbbell: 1
name: small
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: 30 ms, buffer: 12 packets}}
flows:
  - {name: a, from: s1, to: d1, tcp: cubic}
  - {name: b, from: s2, to: d2, start: 500 ms, tcp: {congestion_control: reno, bytes: 400 KB}}
  - {name: u, from: s2, to: d2, udp: {rate: 0.5 Mbit/s, datagram: 700 bytes}}
sampling: {interval: 13.337 ms, keep: [samples, queues, drops], hops: {to: 4 s}}
duration: 4 s
"""
#: Times at which the picture is compared with the tables: those of samples.
SAMPLES = (7, 30, 61, 90, 140, 200, 298)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    file = tmp_path_factory.mktemp("small") / "small.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    return dumbbell.run(file)


@pytest.fixture(scope="module")
def scene(results: Results) -> Scene:
    return scene_of_run(results, results.runs.row(0, named=True), results.hops, title="small")


def evaluated(html: str, code: str, folder: Path) -> Any:
    """What code makes of `animation` in the page, as JSON."""
    ask = f"""
<script type="module">
while (!document.documentElement.dataset.ready) await new Promise((done) => setTimeout(done, 5));
const found = await (async () => {{ {code} }})();
document.body.append(Object.assign(document.createElement("pre"),
  {{ id: "found", textContent: JSON.stringify(found) }}));
</script></body>"""
    path = folder / "page.html"
    path.write_text(html.replace("</body>", ask), encoding="utf-8")
    dom, log = opened(path, folder / "profile")
    assert "CONSOLE" not in log, log
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None, log[-2000:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def test_columns_keep_every_time_to_the_nanosecond(scene: Scene) -> None:
    import base64
    import gzip

    import numpy as np

    from dumbbell.animation.pack import packed

    header, columns = packed(scene)
    raw, at, found = gzip.decompress(base64.b64decode(columns)), 0, {}
    for name, kind, length in header["columns"]:
        data = np.frombuffer(raw, np.dtype(kind).newbyteorder("<"), length, at)
        found[name], at = data, at + -(-data.nbytes // 8) * 8
    offered = np.cumsum(found["offered"])
    hops = scene.hops
    assert offered.astype(np.int64).tolist() == hops["offered_ns"].to_list()
    left = np.where(found["waited"] < 0, -1, offered + found["waited"])
    assert left.astype(np.int64).tolist() == hops["leaves_ns"].to_list()
    base = np.where(left < 0, offered, left)
    ended = np.where(found["took"] < 0, -1, base + found["took"])
    assert ended.astype(np.int64).tolist() == hops["ended_ns"].to_list()


@pytest.mark.slow
@needs_browser
def test_what_is_drawn_equals_the_tables(results: Results, scene: Scene, tmp_path: Path) -> None:
    bottleneck = results.queues.filter(pl.col("pipe") == "bottleneck/forward")
    rows = [bottleneck.row(number, named=True) for number in SAMPLES]
    times = [row["time_ns"] / 1e9 for row in rows]
    code = f"""
      const pipe = animation.header.pipes.findIndex((one) => one.name === "bottleneck/forward");
      return {json.dumps(times)}.map((time) => {{
        const {{ moving, waiting, dropped }} = animation.at(time);
        return {{ moving, waiting: waiting[pipe], dropped, all: waiting.reduce((a, b) => a + b) }};
      }});"""
    drawn = evaluated(page(scene), code, tmp_path)
    hops = results.hops
    for row, found in zip(rows, drawn, strict=True):
        now = row["time_ns"]
        assert found["waiting"] == row["queued_packets"]
        assert found["dropped"] == results.drops.filter(pl.col("time_ns") <= now).height
        begun = hops.filter(pl.col("offered_ns") <= now)
        there = begun.filter((pl.col("ended_ns") > now) | (pl.col("ended_ns") < 0))
        assert found["moving"] + found["all"] == there.height
        on_line = there.filter(pl.col("leaves_ns").is_between(0, now))
        assert found["moving"] == on_line.height
    assert max(row["queued_packets"] for row in rows) > 5, "queues were seen full and empty"
    assert drawn[-1]["dropped"] > 10


@pytest.mark.slow
@needs_browser
def test_the_picture_is_the_same_whichever_way_it_was_reached(scene: Scene, tmp_path: Path) -> None:
    code = """
      const times = [0.31, 0.9, 1.234567, 2.2, 3.999];
      const pictures = (order) => order.map((time) => animation.at(time).picture);
      const forwards = pictures(times);
      animation.at(0); animation.at(4);
      const backwards = pictures([...times].reverse()).reverse();
      return { forwards, backwards };"""
    found = evaluated(page(scene), code, tmp_path)
    assert found["forwards"] == found["backwards"]
    assert len(set(found["forwards"])) == 5, "different moments look different"


@pytest.mark.slow
@needs_browser
def test_a_drop_is_told_with_flow_packet_place_and_reason(
    results: Results, scene: Scene, tmp_path: Path
) -> None:
    code = """
      animation.at(0);
      document.querySelector('[data-kind="drop"] button:last-of-type').click();
      const text = (at) => document.querySelector(at).textContent;
      return { time: animation.state.time, caption: text(".caption"), story: text("#story") };"""
    found = evaluated(page(scene), code, tmp_path)
    first = results.drops.sort("time_ns").row(0, named=True)
    assert found["time"] == first["time_ns"]
    hop = results.hops.filter(
        (pl.col("dropped") != "") & (pl.col("ended_ns") == first["time_ns"])
    ).row(0, named=True)
    last = hop["seq_bytes"] + hop["payload_bytes"] - 1
    name = f"bytes {hop['seq_bytes']}–{last}" if hop["kind"] == "tcp" else "datagram"
    for part in (first["flow"], name, "r1 → r2", "the queue was full"):
        assert part in found["caption"], found
        assert part in found["story"], found
    assert "behind 12 packets" in found["story"]


def test_every_dropped_packet_of_tcp_is_explained(results: Results, scene: Scene) -> None:
    explained = {
        (one.explanation.flow, out, number)
        for one in scene.explained
        for out, numbers in ((True, one.sent), (False, one.answered))
        for number in numbers
    }
    dropped = results.hops.filter((pl.col("dropped") != "") & (pl.col("flow") != "u"))
    assert dropped.height > 10
    for flow, direction, number in dropped.select("flow", "direction", "packet_number").rows():
        assert (flow, direction == "out", number) in explained
    times = [one.start_ns for one in scene.explained]
    assert times == sorted(times) and all(one.end_ns >= one.start_ns for one in scene.explained)


@pytest.mark.slow
@needs_browser
def test_a_click_on_a_drop_or_a_state_shows_its_explanation(scene: Scene, tmp_path: Path) -> None:
    code = """
      document.querySelector('.chips [data-flow="0"]').click();
      animation.at(0);
      const click = (kind) => {
        document.querySelector(`[data-kind="${kind}"] button:last-of-type`).click();
        return document.querySelector("#story .why")?.textContent ?? "";
      };
      const drop = click("drop");
      animation.at(0);
      const states = Array.from({ length: 4 }, () => click("state"));
      return { drop, states };"""
    found = evaluated(page(scene), code, tmp_path)
    first = next(one.explanation for one in scene.explained if one.explanation.flow == "a")
    assert [
        one for one in (link.sentence for link in first.links) if one not in found["drop"]
    ] == []
    assert "its limit is 12 packets" in found["drop"]
    assert found["states"][-1].startswith("Explanation for a")


@pytest.mark.slow
@needs_browser
def test_jumps_go_to_every_drop_and_back_and_follow_a_flow(
    results: Results, scene: Scene, tmp_path: Path
) -> None:
    code = """
      const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
      const pressed = (key) => { press(key); return animation.state.time; };
      const seen = (key, times) => Array.from({ length: times }, () => pressed(key));
      animation.at(0);
      document.querySelector('.chips [data-flow="1"]').click();
      const there = seen("d", 500);
      const back = seen("D", 500);
      return { there: [...new Set(there)], back: [...new Set(back)] };"""
    found = evaluated(page(scene), code, tmp_path)
    times = results.drops.filter(pl.col("flow") == "b")["time_ns"].unique().sort().to_list()
    assert found["there"] == times
    assert found["back"] == times[::-1][1:]


@pytest.mark.slow
@needs_browser
def test_a_trace_of_the_run_is_animated_alike(
    results: Results, scene: Scene, tmp_path: Path
) -> None:
    (path,) = write_traces(results, tmp_path)
    again = scene_of_trace(path)
    assert [flow.name for flow in again.flows] == ["a", "b", "u"]
    code = """
      return [0.5, 1.5, 2.5].map((time) => {
        const { moving, waiting, dropped } = animation.at(time);
        return { moving, waiting, dropped };
      });"""
    (tmp_path / "run").mkdir()
    (tmp_path / "trace").mkdir()
    drawn = evaluated(page(scene), code, tmp_path / "run")
    assert evaluated(page(again), code, tmp_path / "trace") == drawn


@pytest.mark.slow
@needs_browser
def test_a_moment_and_frames_are_exported(results: Results, scene: Scene, tmp_path: Path) -> None:
    from dumbbell.animation import export

    path = tmp_path / "page.html"
    path.write_text(page(scene), encoding="utf-8")
    picture = export.svg(path, 1.5)
    assert picture.startswith("<svg") and "t = 1.500000 s" in picture
    stretch = export.Stretch(1.0, 1.1, 0.1, fps=4, width=320, height=200)
    written = export.write_frames(path, tmp_path / "frames", stretch, lambda _: None)
    assert [one.name for one in written] == [f"frame-{n:05d}.png" for n in range(5)]
    pictures = [one.read_bytes() for one in written]
    assert all(one.startswith(b"\x89PNG") for one in pictures)
    assert len(set(pictures)) == 5, "time goes on"
    if shutil.which("ffmpeg"):
        film = tmp_path / "film.gif"
        export.write_film(path, film, stretch, lambda _: None)
        assert film.read_bytes().startswith(b"GIF8")


@pytest.mark.slow
def test_an_experiment_a_store_and_a_stretch_are_animated(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT.replace(", hops: {to: 4 s}", ""), encoding="utf-8")
    written = animate([str(file)], Wanted(output=tmp_path / "a.html", from_="1 s", to="2 s"), err)
    assert written.stat().st_size > 100_000
    dumbbell.run(file, store=tmp_path / "store")
    with pytest.raises(DumbbellError, match="no packet events of this run"):
        animate([str(tmp_path / "store")], Wanted(output=tmp_path / "b.html"), err)
    kept = tmp_path / "kept.yaml"
    kept.write_text(EXPERIMENT, encoding="utf-8")
    dumbbell.run(kept, store=tmp_path / "other")
    animate([str(tmp_path / "other")], Wanted(output=tmp_path / "b.html"), err)
    assert (tmp_path / "b.html").exists()


def test_a_run_that_kept_a_stretch_shows_that_stretch(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT.replace("{to: 4 s}", "{from: 1 s, to: 2 s}"), encoding="utf-8")
    results = dumbbell.run(file)
    scene = scene_of_run(results, results.runs.row(0, named=True), results.hops, title="s")
    assert (scene.from_ns, scene.to_ns) == (1_000_000_000, 2_000_000_000)
    with pytest.raises(DumbbellError, match="kept between 1 s and 2 s"):
        window = (3_000_000_000, 4_000_000_000)
        scene_of_run(
            results, results.runs.row(0, named=True), results.hops, title="s", window=window
        )


def test_what_was_there_before_a_stretch_belongs_to_it(results: Results, tmp_path: Path) -> None:
    row = results.runs.row(0, named=True)
    window = (1_000_000_000, 2_000_000_000)
    scene = scene_of_run(results, row, results.hops, title="s", window=window)
    there = results.hops.filter(
        (pl.col("offered_ns") < window[0]) & (pl.col("ended_ns") >= window[0])
    )
    assert there.height > 5
    assert scene.hops.filter(pl.col("offered_ns") < window[0]).height == there.height
    (path,) = write_traces(results, tmp_path)
    again = scene_of_trace(path, window=window)
    columns = ["offered_ns", "leaves_ns", "ended_ns", "pipe", "flow", "packet_number"]
    # What a trace's window leaves open at its end, the run knows.
    ours = scene.hops.filter(pl.col("ended_ns") < window[1]).select(columns).sort(columns)
    theirs = again.hops.filter(pl.col("ended_ns").is_between(0, window[1] - 1))
    assert theirs.select(columns).sort(columns).equals(ours)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(from_="2 s", to="1 s"), "--to 1 s: should be later than --from 2 s"),
        (Wanted(from_="2"), "--from 2: a time needs a unit"),
        (
            Wanted(from_="50 s", to="60 s"),
            "--from 50 s: the packets of this run are kept between 0 s and 4 s",
        ),
        (Wanted(at="99 s"), "--at 99 s: the animation lies between 0 s and 4 s"),
    ],
)
def test_what_cannot_be_animated_is_said(wanted: Wanted, message: str, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    with pytest.raises(DumbbellError, match=re.escape(message)):
        animate([str(file)], wanted, err)


def test_several_combinations_are_named(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    factors = "factors: {grid: {cc: {levels: [reno, cubic], path: 'flows[0].tcp'}}}\n"
    file.write_text(EXPERIMENT + factors, encoding="utf-8")
    with pytest.raises(DumbbellError, match=r"2 combinations of levels.*cc: reno, cubic"):
        animate([str(file)], Wanted(), err)


def test_nodes_stand_so_that_few_links_cross() -> None:
    """Study 3: sources by their routers, not in the order of their names."""
    nodes = ["n0", "n1", "n2", "n3", "n4", "n5", "r1", "r2", "r3", "r4"]
    pairs = ["n0r1", "n0r2", "n2r1", "n4r2", "r1r3", "r2r4", "r3n1", "r4n1", "r3n3", "r4n5"]
    links = [(one[:2], one[2:]) for one in pairs]
    flows = [("n0", "n1"), ("n2", "n3"), ("n4", "n5")]
    found = places(nodes, links, flows)
    assert {found[name][0] for name in ("n0", "n2", "n4")} == {0}
    assert found["n0"][1] == 1.0 == found["n1"][1], "what joins both paths stands between them"
    sign = [
        (found[a][1] - found[b][1]) * (found[c][1] - found[d][1])
        for a, b, c, d in [
            ("n2", "n4", "r1", "r2"),
            ("n3", "n5", "r3", "r4"),
            ("r1", "r2", "r3", "r4"),
        ]
    ]
    assert all(one > 0 for one in sign), found


@pytest.mark.slow
@needs_browser
def test_time_outs_are_those_of_the_sender(tmp_path: Path) -> None:
    """A path is cut for five seconds: the sender waits, longer each time."""
    file = tmp_path / "rto.yaml"
    file.write_text(
        """\
dumbbell: 1
name: rto
template:
  dumbbell:
    rate: 5 Mbit/s
    rtt: 40 ms
    buffer: 50 packets
    forward: {changes: [{at: 1 s, loss: 100 %}, {at: 6 s, loss: 0 %}]}
flows: [{name: f, from: s1, to: d1, tcp: reno}]
sampling: {interval: 1 ms, keep: [samples], hops: {to: 9 s}}
duration: 9 s
""",
        encoding="utf-8",
    )
    results = dumbbell.run(file)
    scene = scene_of_run(results, results.runs.row(0, named=True), results.hops, title="rto")
    code = """
      const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
      animation.at(0);
      const seen = Array.from({ length: 30 }, () => { press("t"); return animation.state.time; });
      return [...new Set(seen)].filter((time) => time > 0);"""
    found = evaluated(page(scene), code, tmp_path)
    assert len(found) == results.flows["timeouts"][0] > 1
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert gaps == sorted(gaps), "each waits longer than the one before"


def test_flows_that_a_run_draws_are_animated(tmp_path: Path) -> None:
    file = tmp_path / "drawn.yaml"
    file.write_text(
        """\
dumbbell: 1
name: drawn
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 20 packets}}
arrivals:
  - {name: short, from: s1, to: d1, load: 5 Mbit/s, tcp: cubic, size: 20 KB}
duration: 1 s
""",
        encoding="utf-8",
    )
    text = animate([str(file)], Wanted(output=tmp_path / "a.html"), err).read_text(encoding="utf-8")
    header = json.loads(re.findall(r'id="header">(.*?)</script>', text, re.DOTALL)[0])
    assert len(header["flows"]) > 5
    assert {(flow["from"], flow["to"]) for flow in header["flows"]} == {("s1", "d1")}


def test_an_endless_film_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    wanted = Wanted(output=tmp_path / "a.html", film=tmp_path / "a.mp4", speed=1e-6)
    with pytest.raises(DumbbellError, match="a film has at most 18000"):
        animate([str(file)], wanted, err)


@pytest.mark.slow
def test_places_can_be_given(tmp_path: Path) -> None:
    file, places_file = tmp_path / "small.yaml", tmp_path / "places.json"
    file.write_text(EXPERIMENT, encoding="utf-8")
    given = {"s1": [0, 0], "s2": [0, 80], "r1": [100, 40], "r2": [200, 40], "d1": [300, 0]}
    places_file.write_text(json.dumps(given), encoding="utf-8")
    wanted = Wanted(output=tmp_path / "a.html", positions=places_file)
    with pytest.raises(DumbbellError, match="no place for d2"):
        animate([str(file)], wanted, err)
    places_file.write_text(json.dumps({**given, "d2": [300, 80]}), encoding="utf-8")
    text = animate([str(file)], wanted, err).read_text(encoding="utf-8")
    header = json.loads(re.findall(r'id="header">(.*?)</script>', text, re.DOTALL)[0])
    at = {node["name"]: (node["x"], node["y"]) for node in header["nodes"]}
    assert at["r1"][0] == pytest.approx(at["d1"][0] / 3) and at["s2"][1] > at["s1"][1] == 0.0
    for wrong in ('{"s1": 3}', '{"s1": [NaN, 1]}', '{"s1": [1e400, 1]}'):
        places_file.write_text(wrong, encoding="utf-8")
        with pytest.raises(DumbbellError, match="should be JSON like"):
            animate([str(file)], wanted, err)


@pytest.mark.slow
def test_a_study_names_its_animations_and_its_report_links_them(tmp_path: Path) -> None:
    study = load_study("mptcp")
    first = next(animate_study("mptcp", tmp_path / "animations", "sim", err))
    assert first.name == "mptcp-wired-redundant-reno-10_ms.html"
    section = "".join(animations_section(study, tmp_path))
    assert section.count("<li>") == 5 and section.count("<a ") == 1
    assert f'href="animations/{first.name}"' in section
    assert "dumbbell study animate mptcp" in section, "the others are yet to be made"
    with pytest.raises(DumbbellError, match="names no animations"):
        next(animate_study("web", tmp_path, "sim", err))
