"""Writes the table of words in docs/models/netem.md: the fate of each packet on both engines.

`python -m tests.write_netem_page`; some minutes on one core.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.helpers import ROOT
from tests.linux.test_netem_words import LINKS, RUN_IN, RUN_OUT, Times, on_both

PAGE = ROOT / "docs" / "models" / "netem.md"
PACKETS = 1000
HEAD = """\
| word | packets | lost, simulator (%) | lost, kernel (%) | other fate | apart (ns) | K-S |
| --- | --- | --- | --- | --- | --- | --- |
"""


def row(name: str, ours: tuple[Times, Times], theirs: tuple[Times, Times]) -> str:
    """Row of a word."""
    (near, far), (their_near, their_far) = ours, theirs
    numbers = [one for one in near if RUN_IN <= one < PACKETS - RUN_OUT]
    fates = [(len(far.get(one, [])), len(their_far.get(one, []))) for one in numbers]
    other = sum(one != two for one, two in fates)
    lost = [100 * sum(fate[side] == 0 for fate in fates) / len(fates) for side in (0, 1)]
    both = [(far[one], their_far[one]) for one in numbers if one in far and one in their_far]
    apart = [abs(a - b) for pair in both for a, b in zip(*pair, strict=False)]
    distance = farthest(waits(near, far), waits(their_near, their_far))
    return (
        f"| {name} | {len(numbers)} | {lost[0]:.2f} | {lost[1]:.2f} | {other} | {max(apart)} "
        f"| {distance:.4f} |\n"
    )


def waits(near: Mapping[int, list[int]], far: Mapping[int, list[int]]) -> NDArray[np.float64]:
    """Delays of packets that arrive, ns, to the microsecond: finer differences are *apart*."""
    found = [
        far[one][0] - near[one][0]
        for one in near
        if one in far and RUN_IN <= one < PACKETS - RUN_OUT
    ]
    return np.sort(np.round(np.array(found, dtype=np.float64), -3))


def farthest(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Largest difference of two empirical distributions."""
    both = np.concatenate([one, other])
    shares = [np.searchsorted(each, both, side="right") / len(each) for each in (one, other)]
    return float(np.max(np.abs(shares[0] - shares[1])))


def main() -> None:
    """Runs each word on both engines and writes the page."""
    table = HEAD
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own.dist").write_text("-8192 -8192 0 1000\n16000\n", encoding="utf-8")
        for word, link in LINKS.items():
            ours, theirs = on_both(folder, link, PACKETS)
            table += row(word, ours, theirs)
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(r"(<!-- words -->\n).*?(<!-- end words -->)", re.DOTALL)
    PAGE.write_text(block.sub(rf"\g<1>{table}\g<2>", text), encoding="utf-8")


if __name__ == "__main__":
    main()
