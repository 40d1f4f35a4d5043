"""The network of a scenario as a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.face.markup import Markup, joined, tag
from dumbbell.layout import places
from dumbbell.scenario import Link, Node, Scenario, read_scenario
from dumbbell.summary.pipe_words import pipe_words

#: Networks with more nodes are told in words.
MOST_NODES = 30
#: Least distance of columns, distance of rows, room around the drawing.
_COLUMN, _ROW, _MARGIN = 190, 112, 60
#: Width of a letter beside a link.
_LETTER = 7.3


@dataclass(frozen=True)
class _Place:
    x: float
    y: float


def topology(scenario: str | Scenario) -> Markup:
    """An SVG of hosts, routers and switches from the senders on the left to the receivers.

    Links that limit or delay say so; taps are marked. Colours follow the page. A network of more
    than 30 nodes gives a sentence.
    """
    spec = read_scenario(scenario) if isinstance(scenario, str) else scenario
    if len(spec["nodes"]) > MOST_NODES:
        words = f"{len(spec['nodes'])} nodes, {len(spec['links'])} links: too many to draw."
        return tag("p", words)
    placed = _places(spec)
    width = max(place.x for place in placed.values()) + _MARGIN
    height = max(place.y for place in placed.values()) + _MARGIN
    middle = (min(p.y for p in placed.values()) + max(p.y for p in placed.values())) / 2
    parts = [_link(link, placed, middle) for link in spec["links"]]
    parts += [_tap(tap, spec, placed) for tap in spec["taps"]]
    parts += [_node(node, placed[node["name"]]) for node in spec["nodes"]]
    names = ", ".join(node["name"] for node in spec["nodes"])
    drawing = tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=f"Network of {names}",
    )
    return tag("div", drawing, class_="scroll topology", tabindex="0")


def _places(spec: Scenario) -> dict[str, _Place]:
    found = places(
        [node["name"] for node in spec["nodes"]],
        [(link["a"], link["b"]) for link in spec["links"]],
        [(flow["from"], flow["to"]) for flow in spec["flows"]],
    )
    column_width = max([_COLUMN, *map(_room, spec["links"])])
    return {
        name: _Place(_MARGIN + column * column_width, _MARGIN + row * _ROW)
        for name, (column, row) in found.items()
    }


def _room(link: Link) -> float:
    """The distance of its ends at which the words beside a link touch neither."""
    lines = [
        line for end in ("forward", "backward") for line in _lines(pipe_words(link[end]), "→ ")
    ]
    if not lines:
        return 0.0
    return 2 * max(_half(link["a"]), _half(link["b"])) + _LETTER * max(map(len, lines)) + 8


def _half(name: str) -> float:
    """Half the width of a node."""
    return max(26.0, 4.2 * len(name) + 9)


def _node(node: Node, at: _Place) -> Markup:
    kind, name = node["kind"], node["name"]
    half = _half(name)
    label = tag("text", name, x=at.x, y=at.y + 4.5, class_="name")
    corner = {"router": 19, "switch": 2}.get(kind, 9)
    box = {"x": at.x - half, "y": at.y - 19, "width": 2 * half, "height": 38, "rx": corner}
    shape = tag("rect", **box, class_=f"node {kind}")
    spray = node.get("spray")
    note = []
    if spray:
        policy = str(spray["policy"]).replace("_", "-")
        note = [tag("text", f"sprays {policy}", x=at.x, y=at.y + 45, class_="note")]
    return tag("g", tag("title", f"{kind} {name}"), shape, label, *note)


def _link(link: Link, places: Mapping[str, _Place], middle: float) -> Markup:
    a, b = places[link["a"]], places[link["b"]]
    line = tag("line", x1=a.x, y1=a.y, x2=b.x, y2=b.y, class_="link")
    forward, backward = pipe_words(link["forward"]), pipe_words(link["backward"])
    if places[link["a"]].x > places[link["b"]].x:
        forward, backward = backward, forward
    title = tag("title", f"{link['name']}: → {_all(forward)}; ← {_all(backward)}")
    labels: list[Markup] = []
    both = bool(forward and backward and forward != backward)
    above = (a.y + b.y) / 2 <= middle or both
    if forward:
        labels.append(_label(forward, a, b, above, "" if forward == backward else "→ "))
    if backward and backward != forward:
        labels.append(_label(backward, a, b, above and not both, "← "))
    return tag("g", title, line, *labels)


def _label(words: list[str], a: _Place, b: _Place, above: bool, sign: str) -> Markup:
    """Label of a pipe in two lines beside its link."""
    x, y = (a.x + b.x) / 2, (a.y + b.y) / 2
    slope = abs((b.y - a.y) / (b.x - a.x)) if a.x != b.x else 0.0
    room = slope * 46 + 6
    lines = _lines(words, sign)
    first = y - room - 13 * (len(lines) - 1) if above else y + room + 9
    return joined(
        tag("text", line, x=f"{x:.1f}", y=f"{first + 13 * row:.1f}", class_="note")
        for row, line in enumerate(lines)
    )


def _lines(words: list[str], sign: str) -> list[str]:
    if not words:
        return []
    return [line for line in (sign + words[0], " · ".join(words[1:3])) if line]


def _all(words: list[str]) -> str:
    return ", ".join(words) or "no limit, no delay"


def _tap(tap: Mapping[str, Any], spec: Scenario, places: Mapping[str, _Place]) -> Markup:
    link = next(link for link in spec["links"] if link["name"] == tap["link"])
    here = places[tap["node"]]
    other = places[link["b"] if link["a"] == tap["node"] else link["a"]]
    length = ((other.x - here.x) ** 2 + (other.y - here.y) ** 2) ** 0.5 or 1.0
    x = here.x + (other.x - here.x) * 62 / length
    y = here.y + (other.y - here.y) * 62 / length
    mark = tag("path", d=f"M{x:.1f} {y:.1f} l-6 11 h12 z", class_="tap")
    label = tag("text", "tap", x=f"{x:.1f}", y=f"{y + 24:.1f}", class_="note tap-name")
    return tag("g", tag("title", f"tap {tap['name']} at {tap['node']}"), mark, label)
