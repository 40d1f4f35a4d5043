"""The page of a scorecard."""

from __future__ import annotations

from dumbbell.cards import display
from dumbbell.cards.card import Item
from dumbbell.cards.plane import plane_figure
from dumbbell.cards.running import Scorecard, counts
from dumbbell.face.markup import Markup, details, joined, table, tag
from dumbbell.face.page import chart_page, framed
from dumbbell.metrics import METRICS
from dumbbell.report.parts import navigation
from dumbbell.report.provenance import digest_of, method_section

#: Word of a comparison → class in the style of all pages.
_CLASSES = {"better": "reproduced", "worse": "not-reproduced", "not known": "within-noise"}


def scorecard_page(card: Scorecard) -> str:
    """HTML of a card."""
    before, now = display.sides(card)
    numbers = [one for one in card.card.items if card.of(one)]
    places = {"overview": "Overview"} if card.rows else {}
    places |= {"harm": "Harm matrix"} if card.harm else {}
    places |= {"plane": "Goodput and delay"} if display.plane(card)[1] else {}
    places |= {"stated": "Stated elsewhere"} if display.bounds(card)[1] else {}
    places |= {"items": "Items"} if numbers else {}
    places |= {"missing": "Not measured", "method": "Method"}
    body = [
        _pills(card),
        *(tag("p", one, class_="faint") for one in display.notes(card)),
        navigation({**places, "provenance": "Provenance"}),
    ]
    if numbers:
        body += [
            tag("h2", "Overview", id="overview", class_="first"),
            _stacked(display.overview(card)),
            tag("p", _CAPTION, class_="caption"),
        ]
    if card.harm:
        body += [
            tag("h2", "Harm matrix", id="harm"),
            tag("p", _HINT, class_="caption hint"),
            *(_table(one, 2) for one in display.matrices(card)),
            tag("p", _HARM, class_="caption"),
        ]
    if display.plane(card)[1]:
        body += [
            tag("h2", "Goodput and queueing delay", id="plane"),
            tag("figure", framed(plane_figure(card), "chart-plane")),
            details("Numbers of all cells", _table(display.plane(card), 2)),
            tag("p", _PLANE, class_="caption"),
        ]
    if display.bounds(card)[1]:
        body += [
            tag("h2", "What other documents state", id="stated"),
            _stacked(display.bounds(card)),
            *(tag("p", one, class_="caption") for one in display.sources(card)),
        ]
    if numbers:
        hint = tag("p", _HINT, class_="caption hint")
        body += [tag("h2", "Items", id="items"), hint, *(_item(card, one) for one in numbers)]
    missing = [[name, tag("div", why, class_="wraps")] for name, why in display.not_measured(card)]
    body += [
        tag("h2", "Not measured", id="missing"),
        table(["item", "why"], missing, left=2) if missing else tag("p", "Nothing is left out."),
        tag("h2", "Method", id="method"),
        method_section(_metrics(card), verdicts=False),
        tag("h2", "Provenance", id="provenance"),
        _provenance(card),
    ]
    return chart_page(
        f"{now} beside {before}: {card.card.title}", joined(body), "Dumbbell scorecard"
    )


_CAPTION = (
    "The first quantity of each item in one cell. The last column counts all numbers of the item "
    "by their comparison; they are below. A newcomer that takes more of a line has a better "
    "goodput, and the flow beside it a worse one."
)
_HINT = "These tables scroll sideways."
_HARM = (
    "The flow of a row beside the flow of a column: its goodput, with its share of what both have, "
    "its mean smoothed RTT, and its share of retransmissions. Each is compared with the incumbent "
    "beside itself. Harm to the incumbent: the upper right of each table (Ware et al., Beyond "
    "Jain's Fairness Index, HotNets 2019)."
)
_PLANE = (
    "95th percentile of the queueing delay at the bottleneck, and goodput of all flows: the "
    "trade-off of RFC 7928 §2.7. A line joins both disciplines in a cell; bars are half of 95 % "
    "intervals. Less delay is to the right."
)


def _pills(card: Scorecard) -> Markup:
    items = [
        tag("li", f"{count} {word}", class_=f"pill {_CLASSES.get(word, '')}".strip())
        for word, count in counts(card.rows).items()
        if count
    ]
    return tag("ul", *items, class_="pills")


def _table(texts: display.Texts, left: int) -> Markup:
    """A number stands below its item, since both are long."""
    head, rows = texts
    shown = [[_coloured(one) for one in row] for row in rows]
    if "number" in head[1]:
        head, left = [head[0], *head[2:]], 1
        shown = [
            [tag("div", tag("b", row[0]), tag("br"), row[1], class_="wraps"), *row[2:]]
            for row in shown
        ]
    return table(head, shown, left=left)


def _stacked(texts: display.Texts) -> Markup:
    """A table like `_table`; in a narrow window each row is a list below its item."""
    (first, _, *names), rows = texts
    headings = (
        tag("th", name, class_="number" if place else None)
        for place, name in enumerate([first, *names])
    )
    made = [
        tag(
            "tr",
            tag("td", tag("div", tag("b", row[0]), tag("br"), row[1], class_="wraps")),
            *(
                tag("td", _coloured(text), class_="number", data_name=name)
                for name, text in zip(names, row[2:], strict=True)
            ),
        )
        for row in rows
    ]
    whole = tag("table", tag("thead", tag("tr", *headings)), tag("tbody", *made), class_="stacked")
    return tag("div", whole, class_="scroll", tabindex="0")


def _coloured(text: str) -> object:
    """A comparison, or what is stated, in the colour of its word."""
    if text.endswith(": does not hold"):
        return tag("span", text, class_=_CLASSES["worse"])
    last = text.rpartition(", ")[2]
    for word in (last, last.split(" (")[0]):
        if word in _CLASSES:
            return tag("span", text, class_=_CLASSES[word])
    return text


def _item(card: Scorecard, item: Item) -> Markup:
    rows = card.of(item)
    found = ", ".join(f"{count} {word}" for word, count in counts(rows).items() if count)
    sources = dict.fromkeys(row.stated.source for row in rows if row.stated is not None)
    title = tag("span", tag("b", item.name), f": {found}")
    return details(
        title,
        tag("p", item.asks),
        _table(display.numbers(card, item), 2),
        *(tag("p", f"Stated: {one}", class_="caption") for one in sources),
        *(
            details(f"Experiment {part}", tag("pre", _yaml(card, part), tabindex="0"))
            for part in item.measured
            if part in card.outcome.results
        ),
    )


def _yaml(card: Scorecard, part: str) -> str:
    return str(card.outcome.results[part][1].experiment.yaml)


def _metrics(card: Scorecard) -> list[str]:
    """Metrics of the card, in the order of the documentation."""
    found = {row.quantity.sample.metric for row in card.rows}
    return [name for name in METRICS if name in found]


def _provenance(card: Scorecard) -> Markup:
    """Versions, seeds and digests of the runs of both sides."""
    head = ["experiment", *(f"digest of {name}" for name in display.sides(card))]
    rows = [
        [part, *(tag("code", digest_of(one)[:16]) for one in pair)]
        for part, pair in card.outcome.results.items()
    ]
    runs = [one.runs for pair in card.outcome.results.values() for one in pair]
    engines = sorted({row for one in runs for row in one.select("engine", "engine_version").rows()})
    facts = {
        "Engine": ", ".join(f"{name} {version}" for name, version in engines),
        "Runs": str(sum(one.height for one in runs)),
        "Seeds": display.seeds(card) if runs else "none",
    }
    entries = (tag(n, v) for k, x in facts.items() for n, v in (("dt", k), ("dd", x)))
    return joined([tag("dl", *entries, class_="facts"), table(head, rows, left=3)])
