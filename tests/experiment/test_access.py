"""Named access links: what they expand into, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.catalogue import access_models
from dumbbell.cli import app
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import load_text
from dumbbell.scenario import read_scenario
from tests.helpers import ROOT

MODELS = access_models()

TEXT = """\
dumbbell: 1
name: at home
hosts: {home: {}, server: {}}
routers: {isp: {}}
links:
  - {name: line, between: [home, isp], LINK}
  - {between: [isp, server], delay: 0 ms}
flows:
  - {name: p, from: home, to: server, ping: {interval: 100 ms}}
sampling: {keep: [probes]}
duration: DURATION
"""


def text(link: str, duration: str = "60 s") -> str:
    return TEXT.replace("LINK", link).replace("DURATION", duration)


def line(link: str, duration: str = "60 s") -> tuple[dict[str, Any], dict[str, Any]]:
    """Directions up and down."""
    (cell,) = load_text(text(link, duration), Path("e.yaml")).cells
    found: Any = read_scenario(cell.scenario)["links"][0]
    return found["forward"], found["backward"]


@pytest.mark.parametrize("name", MODELS)
def test_a_name_gives_the_numbers_of_its_model(name: str) -> None:
    model = MODELS[name]
    up, down = line(f"access: {name}")
    assert up["shaper"] == {"serial": {"rate_bps": model.up_bps}}
    assert down["shaper"] == {"serial": {"rate_bps": model.down_bps}}
    assert up["delay_ns"] + down["delay_ns"] == model.rtt_ns
    for wait, pipe in ((model.up_wait, up), (model.down_wait, down)):
        assert ("slots" in pipe) == (wait is not None)
        if wait is not None:
            assert pipe["slots"]["min_ns"] == wait.min_ns
            assert pipe["slots"]["max_ns"] == wait.max_ns
            assert pipe["queue"]["drop_tail"]["limit_bytes"] is None


def test_parameters_and_fields_of_the_link_replace_those_of_the_model() -> None:
    up, down = line(
        "access: {type: docsis, down: 1 Gbit/s, up: 50 Mbit/s, rtt: 7 ms}, loss: 1 %, "
        "forward: {slots: {max: 2 ms}, queue: pie}"
    )
    assert down["shaper"] == {"serial": {"rate_bps": 10**9}}
    assert down["queue"]["drop_tail"]["limit_bytes"] == 10**9 // 80
    assert up["shaper"] == {"serial": {"rate_bps": 50_000_000}}
    assert up["delay_ns"] + down["delay_ns"] == 7_000_000
    assert up["loss"] == down["loss"] == {"independent": {"probability": 0.01}}
    assert up["slots"]["max_ns"] == 2_000_000 and "pie" in up["queue"]


def test_the_subscriber_may_be_at_either_end_and_on_a_link_of_a_template() -> None:
    for end, place in (("home", "forward"), ("isp", "backward")):
        (cell,) = load_text(text(f"access: {{type: geo, subscriber: {end}}}"), Path("e.yaml")).cells
        found: Any = read_scenario(cell.scenario)["links"][0]
        assert found[place]["shaper"]["serial"]["rate_bps"] == MODELS["geo"].up_bps
    template = (
        "dumbbell: 1\nname: t\ntemplate: {dumbbell: {rtt: 20 ms, rate: 1 Mbit/s}}\n"
        "links: [{name: bottleneck, access: {type: lte, subscriber: r2}}]\n"
        "flows: [{from: s1, to: d1, tcp: cubic}]\nduration: 15 s\n"
    )
    (cell,) = load_text(template, Path("e.yaml")).cells
    (forward,) = (
        one["forward"]
        for one in read_scenario(cell.scenario)["links"]
        if one["name"] == "bottleneck"
    )
    assert forward["shaper"]["serial"]["rate_bps"] == MODELS["lte"].down_bps
    assert forward["delay_ns"] == MODELS["lte"].rtt_ns // 2
    assert [change["at_ns"] for change in forward["changes"]] == [10 * 10**9]


def test_starlink_changes_every_15_s_of_the_minute() -> None:
    up, down = line("access: starlink", "61 s")
    starts = [one["at_ns"] / 1e9 for one in down["changes"] if one["delay_ns"] is not None]
    assert starts == [12, 27, 42, 57]
    ends = [one["at_ns"] / 1e9 for one in down["changes"] if one["loss"] == "none"]
    assert ends == [12.2, 27.2, 42.2, 57.2]
    # Both directions are over the same satellite: 1.875 ms more or less on average.
    delays = [
        [one["delay_ns"] for one in side["changes"] if one["delay_ns"] is not None]
        for side in (up, down)
    ]
    assert delays[0] == delays[1] and len(set(delays[0])) == 4
    assert all(15_000_000 <= one < 18_750_000 for one in delays[0])
    rates = [one["rate_bps"] for one in down["changes"] if one["rate_bps"] is not None]
    assert all(150e6 * 0.606 <= one <= 150e6 * 1.649 for one in rates) and len(set(rates)) == 4
    assert not any(one["rate_bps"] for one in up["changes"])
    # Another draw, other values; the same draw, the same, however long the run.
    other = line("access: {type: starlink, draw: 2}", "61 s")[1]["changes"]
    assert other != down["changes"]
    assert line("access: starlink", "45 s")[1]["changes"] == down["changes"][:6]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("access: starlnik", r"e.yaml:6: links\[0\].access: unknown access link.*mean starlink"),
        ("access: {type: lte, dwon: 1 Mbit/s}", r"e.yaml:6: .*unknown field.*did you mean down"),
        ("access: {type: lte, subscriber: me}", r"e.yaml:6: .*subscriber is at neither end"),
        ("access: lte, rate: 9 Mbit/s", r"e.yaml:6: .*has its own rate; write access"),
        ("access: lte, changes: [{at: 1 s, rate: 1 Mbit/s}]", r"e.yaml:6: .*lte has its own rate"),
        ("access: {down: 1 Mbit/s}", r"e.yaml:6: .*type"),
        ("slots: {min: 5 ms, max: 1 ms}", r"e.yaml:6: .*slots.min: longer than max"),
        ("slots: {max: 1 ms, pause: 1 s}", r"e.yaml:6: .*slots.pause: pause_every is needed"),
        ("slots: {max: 1 ms}", r"e.yaml:6: .*needs a buffer"),
        (
            "slots: {max: 1 ms}, shaper: {tbf: {rate: 1 Mbit/s, burst: 2 KiB}}, buffer: 9 packets",
            r"e.yaml:6: .*slots need a wire",
        ),
    ],
)
def test_mistakes_are_told_with_their_line(link: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        line(link)


def test_the_same_seed_gives_the_same_digest(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    for name in ("wifi", "starlink"):
        file.write_text(text(f"access: {name}", "20 s"), encoding="utf-8")
        digests = [dumbbell.run(file).runs["digest"].to_list() for _ in range(2)]
        assert digests[0] == digests[1]
        assert dumbbell.run(file, set={"seed": 2}).runs["digest"].to_list() != digests[0]


def rtts_ms(tmp_path: Path, name: str, duration: str = "300 s") -> Any:
    file = tmp_path / "e.yaml"
    file.write_text(text(f"access: {name}", duration), encoding="utf-8")
    return dumbbell.run(file).probes["delay_ns"].cast(float) / 1e6


def test_pings_over_starlink_differ_as_much_as_measured(tmp_path: Path) -> None:
    """Waits of 0 to 20 ms: two of them differ by 20/3 ms on average (Huston 2024: 6.7 ms)."""
    rtts = rtts_ms(tmp_path, "starlink")
    rtts = rtts.filter(rtts > 0)
    assert float(rtts.diff().abs().mean()) == pytest.approx(20 / 3, rel=0.05)
    # 20 bursts of 200 ms in 300 s with 75 % loss each way: 94 % of 40 pings are lost.
    assert 0.005 < 1 - len(rtts) / 3000 < 0.02


def test_docsis_has_10_ms_idle_and_wifi_3_ms(tmp_path: Path) -> None:
    assert float(rtts_ms(tmp_path, "docsis").median()) == pytest.approx(10, rel=0.02)
    assert float(rtts_ms(tmp_path, "wifi").median()) == pytest.approx(3, rel=0.05)


def test_changes_start_from_delay_and_loss_of_the_link() -> None:
    model = MODELS["starlink"]
    assert model.epochs is not None
    own = "delay: 40 ms, loss: 2 %, backward: {delay: 50 ms}"
    for pipe, delay_ns in zip(
        line(f"access: starlink, {own}"), (40_000_000, 50_000_000), strict=True
    ):
        assert pipe["delay_ns"] == delay_ns
        assert pipe["loss"] == {"independent": {"probability": 0.02}}
        delays = [one["delay_ns"] for one in pipe["changes"] if one["delay_ns"] is not None]
        assert delays
        assert all(delay_ns <= one <= delay_ns + model.epochs.delay_ns for one in delays)
        losses = [one["loss"] for one in pipe["changes"] if one["loss"] is not None]
        assert losses[:2] == [
            {"independent": {"probability": model.epochs.loss}},
            {"independent": {"probability": 0.02}},
        ]


def test_a_shaping_queue_where_the_rate_changes_is_refused_with_a_reason() -> None:
    cake = "backward: {queue: {cake: {bandwidth: 50 Mbit/s}}}"
    reason = (
        "the rate of starlink changes over time, and cake with a bandwidth has a rate of its own"
    )
    with pytest.raises(ExperimentError, match=reason):
        line(f"access: starlink, {cake}")
    _, down = line(f"access: geo, {cake}")
    assert "cake" in down["queue"]
    up, _ = line(f"access: starlink, {cake.replace('backward', 'forward')}")
    assert "cake" in up["queue"]  # the rate up does not change


def test_validate_shows_the_fields_of_access_links(tmp_path: Path) -> None:
    """As `docs/access-links.md` says, beside those that the file writes itself."""
    file = tmp_path / "e.yaml"
    text = (ROOT / "examples" / "starlink.yaml").read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["validate", str(file)])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    (down, up) = [line for line in lines if line.startswith("  dish ")]
    assert "150 Mbit/s, delay 15 ms, queue of " in down and "from 12 s " in down
    assert "15 Mbit/s" in up
    plain = CliRunner().invoke(app, ["validate", str(ROOT / "examples" / "two-flows.yaml")])
    assert "Mbit/s" not in plain.stdout
