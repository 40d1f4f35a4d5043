"""Scorecards: items of their RFCs, comparisons that are right, pages that are the same twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner, Result

from dumbbell.cards import display
from dumbbell.cards.card import names, read_card
from dumbbell.cards.running import run_card, sides_of
from dumbbell.cli import app
from dumbbell.gate.queues import QueueSide, has_queue, queue_names
from dumbbell.gate.sides import read_side
from dumbbell.gate.suite import read_suite
from tests.browser import needs_browser
from tests.driven import driven, faults
from tests.helpers import BASE, ROOT
from tests.write_scorecards import CARDS, INDEX, page_of


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["study", "run", *(str(word) for word in words)])


def numbers(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["numbers"]
    return found


def test_a_card_has_every_item_of_its_rfc() -> None:
    items = [one.item for one in read_card("rfc9743").items]
    sections = {"5.1": 5, "5.2": 3, "5.3": 2, "6": 4, "7": 11}
    assert items == [
        f"{section}.{number + 1}" for section, count in sections.items() for number in range(count)
    ]
    for name in names():
        for one in read_card(name).items:
            given = [bool(one.measured), bool(one.text), bool(one.missing)]
            assert given.count(True) == 1, one.item
        measured = [part for one in read_card(name).items for part in one.measured]
        assert sorted(measured) == sorted(read_suite(name)), "each experiment of the suite, once"


@pytest.mark.slow
def test_the_same_algorithm_is_the_same_in_every_number(tmp_path: Path) -> None:
    for name, new in (
        ("rfc9743", "cubic"), ("rfc7928", "fifo"), ("bbr-draft", "bbr3"), ("rfc8867", "fifo"),
    ):  # fmt: skip
        card = run_card(name, new, store=tmp_path / name, repeats=2)
        assert {row.word for row in card.rows} == {"same"}
        assert [one.item for one in card.card.items if one.measured and not card.head(one)] == []
        harm = [own for one in card.harm for own in one.quantities.values()]
        assert len(card.harm) == 12 * (name == "rfc9743")
        assert all(one.verdict.passes for one in harm)
        assert not card.outcome.refused


def test_what_a_newcomer_does_to_the_incumbent(tmp_path: Path) -> None:
    words = ("--part", "harm", "--part", "7.10", "--part", "5.1.2", "--repeats", "6")
    found = tmp_path / "card.json"
    done = call("rfc9743", "--cc", "bbr", *words, "--store", tmp_path / "s", "--json", found)
    assert done.exit_code == 0, done.output
    card = json.loads(found.read_text(encoding="utf-8"))
    harm = {
        (one["levels"]["buffer"], one["of"], one["beside"]): one["comparisons"]
        for one in card["harm"]
    }
    # BBR takes most of a line with a short queue, and the less of one with a long queue.
    assert harm["0.5 BDP", "cubic", "bbr"]["goodput_mbps"] == "worse"
    assert harm["4 BDP", "cubic", "bbr"]["goodput_mbps"] == "better"
    assert harm["0.5 BDP", "cubic", "cubic"] == {}
    # BBR beside itself leaves a long queue empty, and loses many packets of a short one.
    assert harm["4 BDP", "bbr", "bbr"]["srtt_mean_ms"] == "better"
    assert harm["0.5 BDP", "cubic", "bbr"]["retransmitted_share"] == "worse"
    assert "What other documents state" not in done.output and "G.114" not in done.output
    assert done.output.count("Harm matrix") == 3 and "mean smoothed RTT of (ms)" in done.output
    words_of = {
        (one["item"], one["metric"], *one["levels"].values(), *one["of"].values()): one
        for one in card["numbers"]
    }
    other = words_of["7.10", "goodput_mbps", "0.5 BDP", "other"]
    assert other["comparison"] == "worse" and other["now"][2] < other["before"][1]
    # CUBIC fills a queue of 8 BDP: 320 ms at 40 ms of RTT.
    delay = words_of["5.1.2", "queue_delay_p95_ms", "20 Mbit/s", "8 BDP", "bottleneck/forward"]
    assert 0.9 * 320 < delay["before"][0] <= 320
    assert delay["comparison"] == "better"
    assert "Harm matrix" in done.output and "seeds 1 to 6," in done.output


def test_short_flows_and_long_flows_beside_each_other(tmp_path: Path) -> None:
    found = tmp_path / "card.json"
    words = ("--part", "5.1.5", "--part", "5.2.3", "--repeats", "6", "--store", tmp_path / "s")
    done = call("rfc9743", "--cc", "bbr", *words, "--json", found)
    assert done.exit_code == 0, done.output
    rows = {
        (one["experiment"], one["metric"], *one["levels"].values(), *one["of"].values()): one
        for one in numbers(found)
    }
    # Of the same algorithm: each load leaves the long flow less, and takes longer than alone.
    few, many = (
        rows["5.1.5-short-beside-long", "goodput_mbps", f"{load} Mbit/s", "long"]
        for load in (4, 10)
    )
    for load in ("4 Mbit/s", "10 Mbit/s"):
        alone = rows["5.1.5-short-flows", "fct_mean_ms", load, "web"]
        beside = rows["5.1.5-short-beside-long", "fct_mean_ms", load, "web"]
        for side in ("before", "now"):
            assert beside[side][1] > alone[side][2]
            assert many[side][2] < few[side][1] < 20
    # The newcomer is short beside a long flow of CUBIC, and the reverse.
    for part, flow in (("5.2.3-newcomer-short", "other"), ("5.2.3-short-and-long", "subject")):
        assert (part, "goodput_mbps", "cubic", flow) in rows
        assert (part, "fct_mean_ms", "reno", "web") in rows
    # Short flows are 5 of 20 Mbit/s.
    assert 10 < rows["5.2.3-newcomer-short", "goodput_mbps", "cubic", "other"]["now"][0] < 20


def test_an_item_may_cover_several_sections(tmp_path: Path) -> None:
    found = []
    for section in ("8.2.2", "8.2.4"):
        words = ("--part", section, "--repeats", "2", "--store", tmp_path / "s")
        done = call("rfc7928", "--aqm", "codel", *words)
        assert done.exit_code == 0, done.output
        found.append(done.output.partition("RFC 7928, active queue management")[2])
    assert "8.2.2 to 8.2.4 congestion" in found[0] and found[0] == found[1]
    assert call("rfc7928", "--aqm", "codel", "--part", "8.2.7").exit_code == 2


def test_a_managed_queue_is_shorter_than_drop_tail(tmp_path: Path) -> None:
    words = ("--part", "5.1.1", "--part", "12", "--repeats", "6", "--store", tmp_path / "s")
    found = tmp_path / "card.json"
    done = call("rfc7928", "--aqm", "codel", *words, "--json", found)
    assert done.exit_code == 0, done.output
    assert "the RFC wants text on parameters" in done.output
    delays = [one for one in numbers(found) if one["metric"] == "queue_delay_p95_ms"]
    assert len(delays) == 4
    for one in delays:
        assert one["comparison"] == "better"
        # 165 packets of 1514 bytes at 20 Mbit/s; 42 at 5 Mbit/s take as long.
        assert one["before"][0] < 165 * 1514 * 8 / 20e3 * 1.03


def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for number in ("first", "second"):
        folder = tmp_path / number
        folder.mkdir()
        words = ("--part", "5.2.2", "--part", "7.2", "--repeats", "2", "--store", folder / "s")
        for name in ("card.html", "card.md"):
            rows = folder / "card.json"
            done = call("rfc9743", "--cc", "reno", *words, "-o", folder / name, "--json", rows)
            assert done.exit_code == 0, done.output
            assert "ITU-T G.114: up to 150 ms" in done.output and "ITU-T G.107" in done.output
        made.append(
            [(folder / name).read_bytes() for name in ("card.html", "card.md", "card.json")]
        )
    assert made[0] == made[1]
    page, text, _ = (one.decode() for one in made[0])
    for one in (page, text):
        assert "5.2.2 constant-rate call" in one
        assert "measured in part; missing: real-time congestion controls beside it" in one
    assert "ITU-T G.114" in page and "ITU-T G.114" in text
    assert "no link ends a flow" in page and "no link ends a flow" in text
    assert "≤ 150: holds" in text


_SEEN = """() => [...document.querySelectorAll("#overview + .scroll tbody tr")].map((row) => {
  const items = [...row.cells];
  return items.every((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    const over = items.filter((other) => other !== one).every((other) => {
      const box = other.getBoundingClientRect(), own = one.getBoundingClientRect();
      return box.left >= own.right || box.right <= own.left || box.top >= own.bottom - 1
        || box.bottom <= own.top + 1;
    });
    return over && width > 0 && left >= 0 && right <= innerWidth;
  });
})"""


def _seen(browser: Browser, page: Path, width: int) -> list[bool]:
    """For each item of the overview: whether all its cells are in the window, none over another."""
    opened = browser.new_page(viewport={"width": width, "height": 1000})
    opened.goto(page.as_uri())
    found: list[bool] = opened.evaluate(_SEEN)
    assert opened.locator(".hint").first.is_visible() is (width == 400)
    opened.close()
    assert found and all(found)
    return found


@needs_browser
@pytest.mark.slow
def test_the_page_in_a_browser(browser: None, tmp_path: Path) -> None:
    del browser
    with driven() as chromium:
        for name, option, new, part in (
            ("rfc9743", "--cc", "bbr", "5.2.1"),
            ("rfc7928", "--aqm", "codel", "9.1"),
            ("bbr-draft", "--cc", "bbr", "7"),
            ("rfc8867", "--aqm", "codel", "5.4"),
        ):
            page = tmp_path / f"{name}.html"
            words = ("--part", part, "--part", "harm") if name == "rfc9743" else ("--part", part)
            store = ("--repeats", "2", "--store", tmp_path / "s")
            done = call(name, option, new, *words, *store, "-o", page)
            assert done.exit_code == 0, done.output
            assert faults(chromium, page) == []
            assert _seen(chromium, page, 400) == _seen(chromium, page, 1280), "no sideways scroll"


def test_a_card_leaves_the_default_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.yaml").write_text(BASE.replace("duration: 100 s", "duration: 6 s"))
    card = ("rfc7928", "--aqm", "red", "--part", "8.2.5", "--repeats", "2")
    for _ in range(2):  # the card is first, and then the run
        assert call(*card).exit_code == 0
        done = CliRunner().invoke(app, ["run", "r.yaml"])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "store" / "store.json").exists()
    assert {one.name for one in tmp_path.iterdir()} == {"r.yaml", "scorecards", "store"}
    done = call(*card, "--store", "store")
    assert done.exit_code == 2 and "store is a store; a scorecard has many" in done.output


@pytest.mark.slow
def test_a_plug_in_has_the_name_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "a_folder_with_a_long_name" / "plugins"
    folder.mkdir(parents=True)
    plugin = folder / "a_longer_name_of_a_control.py"
    plugin.write_bytes((ROOT / "examples" / "plugins" / "cubic.py").read_bytes())
    page, found = tmp_path / "plug.html", tmp_path / "plug.json"
    words = ("--part", "5.2.2", "--part", "harm", "--repeats", "2", "--store", tmp_path / "s")
    done = call("rfc9743", "--cc", plugin, *words, "-o", page, "--json", found)
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    title = f"{plugin.name} beside cubic: RFC 9743"
    assert f"<title>{title}" in text and re.search(rf"<h1[^>]*>{re.escape(title)}", text)
    assert json.loads(found.read_text(encoding="utf-8"))["new"] == plugin.name
    assert str(folder) not in done.output and "…" not in done.output
    # The name is broken between its parts alone, and no number is cut.
    words_of = done.output.split()
    for piece in ("a_longer_", "name_of_a_", "control.py"):
        assert words_of.count(piece) >= 5, "three headings, three rows"
    assert len(re.findall(r"\(\d+\s%\)", done.output)) == 12
    # Two files of one name are told apart.
    other = tmp_path / plugin.name
    other.write_bytes(plugin.read_bytes())
    both = sides_of(read_card("rfc9743"), str(plugin), str(other), "sim")
    assert [one.name for one in both] == [str(other), str(plugin)]


@pytest.mark.kernel
def test_a_kernel_is_asked_beside(tmp_path: Path) -> None:
    words = ("--part", "5.1.2", "--repeats", "6", "--beside", "linux", "--store", tmp_path / "s")
    found = tmp_path / "card.json"
    done = call("rfc9743", "--cc", "vegas", *words, "--json", found)
    assert done.exit_code == 0, done.output
    asked = [one for one in numbers(found) if one["beside"] is not None]
    assert {one["metric"] for one in asked} == {
        "queue_delay_p95_ms", "srtt_mean_ms", "goodput_mbps",
    }  # fmt: skip
    # CUBIC fills a queue that Vegas leaves empty, on both engines.
    assert all(one["beside"] == one["comparison"] for one in asked)
    assert "agrees" in done.output


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("5.3.1", "the RFC wants text on deviations from RFC 2914"),
        ("7.2", "not expressed yet: no link ends a flow by its measured loss"),
    ],
)
def test_an_item_without_numbers_says_why(item: str, why: str, tmp_path: Path) -> None:
    page, found = tmp_path / "card.html", tmp_path / "card.json"
    words = ("--part", item, "--store", tmp_path / "s", "-o", page, "--json", found)
    done = call("rfc9743", "--cc", "bbr", *words)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "bbr beside cubic: nothing was measured." in said
    assert said.rpartition("measured. ")[2].startswith(item) and why in said.rpartition(item)[2]
    assert "24 runs" not in said and "of 0 numbers" not in said
    assert json.loads(found.read_text(encoding="utf-8"))["seeds"] == []
    text = page.read_text(encoding="utf-8")
    assert "nothing was measured" in text and 'id="overview"' not in text and why in text


def test_a_bad_plug_in_is_named_before_any_run(tmp_path: Path) -> None:
    plugin = tmp_path / "bad.py"
    plugin.write_text("def nothing(:\n")
    done = call("rfc9743", "--cc", plugin, "--part", "5.2.2", "--store", tmp_path / "s")
    assert done.exit_code == 2 and not (tmp_path / "s").exists()
    said = " ".join(done.output.split())
    assert "bad.py: no plug-in: SyntaxError: invalid syntax (line 1) [E507]" in said
    assert "<mapping>" not in said and "under_test" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rfc9743",), "name it, as --cc bbr"),
        (("rfc7928",), "name it, as --aqm codel"),
        (("rfc9743", "--aqm", "codel"), "--aqm is not for rfc9743"),
        (("bbr-draft",), "name it, as --cc bbr"),
        (("rfc8867", "--cc", "bbr"), "--cc is not for rfc8867"),
        (("rfc9743", "--cc", "rennno"), "did you mean reno?"),
        (("rfc9743", "--cc", "linux-6.1"), "linux-6.1 is no sender"),
        (("rfc9743", "--cc", "codel"), "about a sender; codel is none"),
        (("rfc7928", "--aqm", "reno"), "reno is no queue discipline; there is fifo"),
        (("rfc7928", "--aqm", "htb"), "htb is no queue discipline"),
        (("rfc9743", "--cc", "bbr", "--part", "9.9"), "rfc9743 has no item 9.9; it has 5.1.1"),
        (("rfc9743", "--cc", "bbr", "--dry-run"), "--dry-run is not for the scorecard rfc9743"),
        (("rfc9743", "--cc", "bbr", "--shard", "1/2"), "--shard is not for the scorecard"),
        (("l4s", "--cc", "bbr"), "--cc is for the scorecards bbr-draft, rfc7928, rfc8867, rfc9743"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = call(*words, "--store", tmp_path)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_discipline_stands_for_the_word() -> None:
    suite = read_suite("rfc7928")
    for name in queue_names():
        for contents in [*suite.values(), *read_suite("rfc8867").values()]:
            assert has_queue(contents) and not has_queue(QueueSide(name, "sim").fitted(contents))
    forward = QueueSide("codel", "sim").fitted(suite["4.5-ecn"])["template"]["dumbbell"]["forward"]
    assert forward["queue"] == {"codel": {"limit": "165 packets", "ecn": True}}
    forward = QueueSide("fifo", "sim").fitted(suite["4.5-ecn"])["template"]["dumbbell"]["forward"]
    assert forward["queue"] == {"pfifo": {"limit": "165 packets"}}
    forward = QueueSide("bfifo", "sim").fitted(suite["4.5-ecn"])["template"]["dumbbell"]["forward"]
    assert forward["queue"] == {"bfifo": {"limit": f"{165 * 1514} bytes"}}
    done = CliRunner().invoke(app, ["gate", "cubic", "reno", "--suite", "rfc7928"])
    assert done.exit_code == 2 and "is about a queue discipline; cubic is none" in done.output


def test_subflows_are_of_the_sender_under_test() -> None:
    for name in ("7.10-multipath", "7.10-two-paths"):
        contents = read_suite("rfc9743")[name]
        made = read_side("bbr", "sim").fitted(contents)["flows"]
        assert made[0]["mptcp"]["congestion_control"] == "bbr" and made[1]["tcp"] == "cubic"


def test_the_cards_are_listed() -> None:
    done = CliRunner().invoke(app, ["study", "list"], terminal_width=200)
    assert "rfc9743" in done.output and "--aqm NAME" in done.output


def test_the_pages_of_the_documentation() -> None:
    index = INDEX.read_text(encoding="utf-8")
    for card, newcomers in CARDS.items():
        for new in newcomers:
            page = page_of(card, new).read_text(encoding="utf-8")
            name = page_of(card, new).name
            (row,) = (line for line in index.splitlines() if f"({name})" in line)
            cells = [cell.strip() for cell in row.strip("|").split("|")][1:5]
            words = ("better", "same", "worse", "not known")
            told = ", ".join(
                f"{count} {word}" for count, word in zip(cells, words, strict=True) if count != "0"
            )
            assert f"{told} of" in page
            for one in read_card(card).items:
                assert re.search(rf"^\| {re.escape(one.item)} ", page, re.MULTILINE), one.item
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "scorecards/index" in listed


def test_one_seed_is_no_range() -> None:
    for seeds, words in (((3, 3), "3"), ((1, 24), "1–24")):
        card = SimpleNamespace(seeds=seeds)
        assert display.seeds(card) == words  # type: ignore[arg-type]
