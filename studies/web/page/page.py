"""The page: objects in the numbers and classes of study 2's Table 1, on several host names.

Nothing is drawn anew: the same objects each time.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Table 1: class → objects, least and greatest size (bytes).
CLASSES = {
    "large": (6, 100_000, 200_000),
    "medium": (38, 10_000, 99_999),
    "small": (133, 100, 9_999),
}
#: All objects together (bytes): what the study's 2 397 076 on the wire leave without headers.
TOTAL_BYTES = 2_000_000
_SEED = 2013
#: Hosts that keep connections open, and hosts that close them after a response, as counters and
#: advertisements did; the latter have these shares of the objects of a class.
PERSISTENT, CLOSING = 16, 16
_CLOSING_SHARE = {"large": 0.0, "medium": 0.3, "small": 0.7}
#: Images are asked for in so many stages, each when the one before is there, as scripts do.
_STAGES = 6
_NEXT = """
function next() {
  const stage = stages.shift();
  let left = stage ? stage.length : 0;
  for (const address of stage || []) {
    const image = new Image();
    image.onload = image.onerror = () => { left -= 1; if (left === 0) next(); };
    image.src = address;
    document.body.append(image);
  }
}
next();
"""


@dataclass(frozen=True)
class Host:
    """A host name with an address of its own."""

    name: str
    address: str
    is_persistent: bool


@dataclass(frozen=True)
class Thing:
    """An object of the page: its class, host, path, and size (bytes)."""

    class_: str
    host: Host
    path: str
    size: int


def hosts() -> list[Host]:
    """The first has the page itself."""
    names = ["www", *(f"static{n}" for n in range(1, PERSISTENT))]
    names += [f"count{n}" for n in range(1, CLOSING + 1)]
    return [
        Host(f"{name}.page.test", f"198.18.1.{n}", n <= PERSISTENT)
        for n, name in enumerate(names, 1)
    ]


def things() -> list[Thing]:
    """The objects, in the order in which the page names them."""
    draw = random.Random(_SEED)
    exponent = _exponent()
    everywhere = hosts()
    keeping = [host for host in everywhere if host.is_persistent]
    closing = [host for host in everywhere if not host.is_persistent]
    found = []
    for class_, sizes in _sizes(exponent).items():
        for number, size in enumerate(sizes):
            closes = draw.random() < _CLOSING_SHARE[class_]
            host = draw.choice(closing if closes else keeping)
            kinds = {
                "large": ("png",),
                "medium": ("png", "png", "js"),
                "small": ("png", "js", "css"),
            }
            suffix = "png" if closes else draw.choice(kinds[class_])
            found.append(Thing(class_, host, f"/{class_}-{number}.{suffix}", size))
    draw.shuffle(found)
    return found


def _sizes(exponent: float) -> dict[str, list[int]]:
    """Sizes within the classes; a greater exponent makes them smaller."""
    draw = random.Random(_SEED)
    return {
        class_: [low + int((high - low) * draw.random() ** exponent) for _ in range(number)]
        for class_, (number, low, high) in CLASSES.items()
    }


def _exponent() -> float:
    """That by which all sizes come to `TOTAL_BYTES`, by bisection."""
    low, high = 0.1, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        total = sum(map(sum, _sizes(middle).values()))
        low, high = (middle, high) if total > TOTAL_BYTES else (low, middle)
    return high


def write(folder: Path, page: Sequence[Thing]) -> None:
    """Writes every object and `index.html`; all hosts serve the same folder."""
    for thing in page:
        (folder / thing.path[1:]).write_bytes(_content(thing))
    (folder / "index.html").write_text(_html(page), encoding="utf-8")


def _html(page: Sequence[Thing]) -> str:
    address = {thing.path: f"http://{thing.host.name}{thing.path}" for thing in page}
    styles = [
        f'<link rel="stylesheet" href="{a}">' for p, a in address.items() if p.endswith("css")
    ]
    images = [a for p, a in address.items() if p.endswith("png")]
    scripts = [f'<script src="{a}"></script>' for p, a in address.items() if p.endswith("js")]
    each = -(-len(images) // _STAGES)
    stages = [images[at : at + each] for at in range(0, len(images), each)]
    head = ['<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title>']
    head.append('<link rel="icon" href="data:,">')  # none is asked for
    body = [
        "</head><body>",
        *scripts,
        f"<script>const stages = {json.dumps(stages)};{_NEXT}</script>",
    ]
    return "\n".join([*head, *styles, *body, "</body></html>"]) + "\n"


def _content(thing: Thing) -> bytes:
    """Bytes of exactly the size, which a browser takes for what they are called."""
    if not thing.path.endswith("png"):
        return b"/*" + b"x" * (thing.size - 4) + b"*/"
    filling = random.Random(thing.path).randbytes
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    image = _chunk(b"IDAT", zlib.compress(b"\0\0"))
    known = 8 + len(header) + len(image) + 2 * 12
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            header,
            _chunk(b"paDd", filling(max(0, thing.size - known))),
            image,
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
