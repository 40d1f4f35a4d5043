"""A scorecard as tables of texts, which the terminal, Markdown and HTML share, and as JSON."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dumbbell.cards.card import BOTTLENECK, Item
from dumbbell.cards.running import HARM, WORDS, Harm, Row, Scorecard, counts
from dumbbell.console.words import many
from dumbbell.face.markup import NO_BREAK
from dumbbell.gate.beside import REPEATS as OTHER_RUNS
from dumbbell.gate.verdict import Quantity
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number, percent, with_interval
from dumbbell.metrics.statistics import Interval

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Width of paragraphs in Markdown.
_WIDTH = 118
#: Longest word of a heading in a line of a terminal.
_LONG = 12
#: Heading of the numbers of an item by comparison.
_COUNTS = "better/same/worse/?"
#: Heading of the senders in a harm matrix.
_HARM_HEADS = {
    "goodput_mbps": "goodput of (Mbit/s)",
    "srtt_mean_ms": "mean smoothed RTT of (ms)",
    "retransmitted_share": "retransmitted share of",
}
Texts = tuple[list[str], list[list[str]]]


def shown(value: Interval) -> str:
    """`9.12 ± 0.05`; `–` for none."""
    return with_interval(value.mean, value.low, value.high)


def where(row: Row) -> str:
    """Cell of a number, and what is measured there; the bottleneck is not named."""
    return row.quantity.sample.place.removesuffix(BOTTLENECK).removesuffix(", ")


def measured(row: Row) -> str:
    """`Goodput (Mbit/s), rate=2 Mbit/s, subject`."""
    return ", ".join(filter(None, [METRICS[row.quantity.sample.metric].axis, where(row)]))


def kernel(card: Scorecard, row: Row) -> str:
    """What the other engine says: `agrees`, `differs: worse (−12 %)`; `–`: it was not asked."""
    if row.beside is None:
        return "–"
    word = WORDS[row.beside.verdict]
    if word == row.word:
        return "agrees"
    is_open = "not known" in (word, row.word)
    return word if is_open else f"differs: {comparison_of(row.beside)}"


def stated(row: Row, value: Interval) -> str:
    """`≤ 150: holds`; empty without a bound."""
    if row.stated is None:
        return ""
    is_least = row.stated.at_least is not None
    bound = row.stated.at_least if is_least else row.stated.at_most
    word = {True: "holds", False: "does not hold", None: "not known"}[row.holds(value)]
    return f"{'≥' if is_least else '≤'} {number(bound)}: {word}"


def bounds(card: Scorecard) -> Texts:
    """What other documents state: a row for each number with a bound."""
    rows = [
        [row.item.name, measured(row)]
        + [f"{shown(one)}, {stated(row, one)}" for one in (row.before, row.now)]
        for row in card.rows
        if row.stated is not None
    ]
    return ["item", "number", *sides(card)], rows


def sides(card: Scorecard) -> tuple[str, str]:
    """Names of incumbent and newcomer."""
    return card.outcome.base.name, card.outcome.new.name


def overview(card: Scorecard) -> Texts:
    """A row for each item that was measured."""
    before, now = sides(card)
    asked = [card.engine] if card.engine else []
    head = ["item", "first number", before, now, "comparison", *asked, _COUNTS]
    rows = []
    for item in card.card.items:
        row = card.head(item)
        if row is None:
            continue
        said = [kernel(card, row)] if card.engine else []
        all_counts = "/".join(map(str, counts(card.of(item)).values()))
        rows.append(
            [
                item.name, measured(row), shown(row.before), shown(row.now),
                comparison(row), *said, all_counts,
            ]
        )  # fmt: skip
    return head, rows


def comparison(row: Row) -> str:
    """`worse (−12 %)`, `same`, `not known`."""
    return comparison_of(row.quantity)


def comparison_of(one: Quantity) -> str:
    """The same of a quantity."""
    word = WORDS[one.verdict]
    is_change = word in ("better", "worse", "other") and one.paired is not None
    return f"{word} ({one.change_words})" if is_change else word


def numbers(card: Scorecard, item: Item) -> Texts:
    """Every number of an item."""
    before, now = sides(card)
    rows = card.of(item)
    asked = [card.engine] if any(row.beside for row in rows) else []
    bound = ["stated"] if any(row.stated for row in rows) else []
    head = ["quantity", "cell", before, now, "comparison", *bound, *asked, "seeds"]
    return head, [
        [
            METRICS[row.quantity.sample.metric].axis, where(row), shown(row.before),
            shown(row.now), comparison(row), *([stated(row, row.now)] if bound else []),
            *([kernel(card, row)] if asked else []), seeds(card),
        ]
        for row in rows
    ]  # fmt: skip


def _seeds_said(card: Scorecard) -> str:
    first, last = card.seeds
    return f"seed {first}" if first == last else f"seeds {first} to {last}"


def seeds(card: Scorecard) -> str:
    """`1–24`; of one repeat `1`."""
    return "–".join(dict.fromkeys(map(str, card.seeds)))


def matrix(card: Scorecard, metric: str = HARM[0]) -> Texts:
    """Harm matrix of a metric: a row for each cell and sender, a column for what is beside it."""
    if not card.harm:
        return [], []
    before, now = sides(card)
    named = {before: "incumbent", now: "newcomer"} if before != now else {}
    head = [
        "cell",
        _HARM_HEADS[metric],
        f"beside {before} (incumbent)",
        f"beside {now} (newcomer)",
    ]
    rows = []
    for place in range(0, len(card.harm), 4):
        alike, beside, other, within = (_harm(one, metric) for one in card.harm[place : place + 4])
        cell = ", ".join(f"{name}={level}" for name, level in card.harm[place].levels.items())
        rows.append([cell, f"{before} ({named.get(before, 'incumbent')})", alike, beside])
        rows.append(["", f"{now} ({named.get(now, 'newcomer')})", other, within])
    return head, rows


def matrices(card: Scorecard) -> list[Texts]:
    """Harm matrices of goodput, delay and retransmissions."""
    return [matrix(card, metric) for metric in HARM] if card.harm else []


def _matrix_title(place: int) -> str:
    return f"Harm matrix{', ' if place else ''}{('', 'delay', 'retransmissions')[place]}"


def _harm(one: Harm, metric: str) -> str:
    share = f" ({percent(one.share.mean)})" if metric == HARM[0] else ""
    text = f"{shown(one.values[metric])}{share}"
    compared = one.quantities.get(metric)
    return text if compared is None else f"{text}, {WORDS[compared.verdict]}"


def on_plane(card: Scorecard) -> Iterator[tuple[Item, str, dict[str, Row]]]:
    """Item, cell, and its numbers of queueing delay and goodput."""
    metrics = {metric: name for name, metric in card.card.plane.items()}
    found: dict[tuple[str, str], tuple[Item, dict[str, Row]]] = {}
    for row in card.rows:
        sample = row.quantity.sample
        if sample.metric in metrics:
            levels = ", ".join(f"{name}={level}" for name, level in sample.levels.items())
            _, both = found.setdefault((row.quantity.part, levels), (row.item, {}))
            both.setdefault(metrics[sample.metric], row)
    for (_, levels), (item, both) in found.items():
        if len(both) == len(metrics):
            yield item, levels, both


def plane(card: Scorecard) -> Texts:
    """Goodput against queueing delay: a row for each cell."""
    if not card.card.plane:
        return [], []
    units = {"delay": "delay (ms)", "goodput": "goodput (Mbit/s)"}
    head = ["item", "cell", *(f"{name}: {unit}" for name in sides(card) for unit in units.values())]
    rows = [
        [
            item.name, levels,
            *(shown(getattr(both[one], side)) for side in ("before", "now") for one in units),
        ]
        for item, levels, both in on_plane(card)
    ]  # fmt: skip
    return head, rows


def not_measured(card: Scorecard) -> list[tuple[str, str]]:
    """Items without a number, and why."""
    found = []
    left_out = dict.fromkeys(card.outcome.left_out, "only Linux's TCP can send its flows")
    reasons = {**left_out, **{name: _short(why) for name, why in card.outcome.refused.items()}}
    for item in card.card.items:
        name = item.name
        if item.text:
            found.append((name, f"the RFC wants {item.text}"))
        elif item.missing:
            found.append((name, f"not expressed yet: {item.missing}"))
        elif item.partly:
            found.append((name, f"measured in part; missing: {item.partly}"))
        found += [(f"{name} ({part})", reasons[part]) for part in item.measured if part in reasons]
    return found


def _short(why: str) -> str:
    """A refusal without other values."""
    return why.partition("; found")[0]


def notes(card: Scorecard) -> Iterator[str]:
    """Sentences below the tables."""
    before, now = sides(card)
    if not card.rows and not card.harm:
        yield f"{now} beside {before}: nothing was measured."
        yield from (f"{name}: {why}." for name, why in not_measured(card))
        return
    if card.rows:
        found = counts(card.rows)
        words = ", ".join(f"{count} {word}" for word, count in found.items() if count)
        yield f"{now} beside {before}: {words} of {many(len(card.rows), 'number')}."
    runs = many(card.outcome.repeats, "run")
    yield (
        f"{runs} of each cell and side, {_seeds_said(card)}, engine "
        f"{card.outcome.new.engine}. ± is half the 95 % interval. better, worse: a paired test "
        "shows the change at 5 % over all numbers together, and it is larger than "
        f"{percent(card.tolerance)}. same: all of its 95 % interval is within "
        f"{percent(card.tolerance)}."
    )
    for name in card.outcome.untold:
        yield f"{name} is not known of {now}: not compared."
    if card.engine:
        yield (
            f"{card.engine}: agrees if {OTHER_RUNS} runs of the cell there have the same "
            "comparison. A word alone is the comparison there, if it is not known here or there."
        )
        for item, why in card.refused.items():
            yield f"{item} not run on {card.engine}: {_short(why)}"


def sources(card: Scorecard) -> list[str]:
    """Documents that state a bound, each once."""
    found = [row.stated for row in card.rows if row.stated is not None]
    return list(dict.fromkeys(f"{METRICS[one.metric].label}: {one.source}" for one in found))


def terminal(card: Scorecard) -> Iterator[RenderableType]:
    """Everything for a terminal."""
    for title, texts in (
        (card.card.title, overview(card)),
        *((_matrix_title(place), one) for place, one in enumerate(matrices(card))),
        ("Goodput and queueing delay", plane(card)),
        ("What other documents state", bounds(card)),
        ("Not measured", (["item", "why"], [list(one) for one in not_measured(card)])),
    ):
        if texts[1]:
            yield _table(title, texts)
        if texts[1] and texts[0] == bounds(card)[0]:
            yield from (f"{one}." for one in sources(card))
            yield ""


def _table(title: str, texts: Texts) -> RenderableType:
    """A table; a number stands below its item, since both are long."""
    from dumbbell.summary.fit import plain_table, titled

    head, rows = texts
    is_joined = "number" in head[1]
    made = plain_table()
    left = 1 if is_joined else 2
    for place, name in enumerate([head[0], *head[2:]] if is_joined else head):
        lines = _lines(name)
        made.add_column(
            lines,
            justify="left" if place < left else "right",
            overflow="fold",
            min_width=max(map(len, lines.split())),
        )
    for row in rows:
        shown_row = [f"{row[0]}\n  {row[1]}", *row[2:]] if is_joined else row
        made.add_row(*([*map(_lines, shown_row)] if head[0] == "cell" else shown_row))
    return titled(title, made)


def _lines(text: str) -> str:
    """A text whose long words are broken after `_`, `-`, `.` and `/`."""
    words = []
    for word in text.split(" "):
        lines = [""]
        for piece in re.split(r"(?<=[_./-])", word) if len(word) > _LONG else [word]:
            if lines[-1] and len(lines[-1]) + len(piece) > _LONG:
                lines.append("")
            lines[-1] += piece
        words.append("\n".join(lines))
    return " ".join(words).replace(" %)", f"{NO_BREAK}%)")


def markdown(card: Scorecard, heading: str = "#") -> str:
    """A page of Markdown."""
    before, now = sides(card)
    lines = [f"{heading} {now} beside {before}: {card.card.title}", ""]
    for note in notes(card):
        lines += [*textwrap.wrap(note, _WIDTH), ""]
    for title, texts in (
        ("", overview(card)),
        *((_matrix_title(place), one) for place, one in enumerate(matrices(card))),
        ("Goodput and queueing delay", plane(card)),
        ("What other documents state", bounds(card)),
        ("Not measured", (["item", "why"], [list(one) for one in not_measured(card)])),
    ):
        if texts[1]:
            lines += [*([f"{heading}# {title}", ""] if title else []), *_markdown(texts), ""]
            if texts[0] == bounds(card)[0]:
                lines += [*(f"- {one}" for one in sources(card)), ""]
    return "\n".join(lines)


def _markdown(texts: Texts) -> Iterator[str]:
    head, rows = texts
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def to_json(card: Scorecard) -> dict[str, Any]:
    """Plain values."""
    before, now = sides(card)
    is_run = bool(card.rows or card.harm)
    return {
        "card": card.card.card, "base": before, "new": now, "engine": card.outcome.new.engine,
        "repeats": card.outcome.repeats, "seeds": list(card.seeds) if is_run else [],
        "tolerance": card.tolerance,
        "counts": counts(card.rows),
        "numbers": [_row(card, row) for row in card.rows],
        "harm": [
            {
                "levels": dict(one.levels), "of": one.who, "beside": one.whom,
                **{metric: _interval(value) for metric, value in one.values.items()},
                "joint_share": _interval(one.share),
                "comparisons": {
                    metric: WORDS[own.verdict] for metric, own in one.quantities.items()
                },
            }
            for one in card.harm
        ],
        "not_measured": dict(not_measured(card)),
    }  # fmt: skip


def _row(card: Scorecard, row: Row) -> dict[str, Any]:
    one = row.quantity
    bound = row.stated and {
        "at_least": row.stated.at_least, "at_most": row.stated.at_most,
        "source": row.stated.source, "holds": row.holds(row.now),
    }  # fmt: skip
    return {
        "item": row.item.item, "experiment": one.part, "levels": one.sample.levels,
        "of": one.sample.of, "metric": one.sample.metric, "before": _interval(row.before),
        "now": _interval(row.now), "comparison": row.word,
        "p": None if math.isnan(one.p) else one.p, "stated": bound,
        "beside": row.beside and WORDS[row.beside.verdict],
    }  # fmt: skip


def _interval(value: Interval) -> list[float | None]:
    """Mean, and ends of its interval."""
    return [None if math.isnan(one) else one for one in (value.mean, value.low, value.high)]
