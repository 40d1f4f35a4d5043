"""BBR v3: the state cases of draft-ietf-ccwg-bbr (appendix), and shares beside CUBIC.

Each case is an experiment whose trajectory is judged: studies/bbr3/cases.py. The kernel's are in
tests/linux/test_bbr3.py. Agreement with the kernel is in docs/congestion-controls.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from tests.bbr3_cases import load

cases = load()
#: Cases in which Linux's version 3, and so this one, differs from the draft.
DIFFERENT = {3: "in part", 4: "not"}
BESIDE = """\
dumbbell: 1
name: beside
template: {{dumbbell: {{pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: 0.5 BDP}}}}
flows:
  - {{name: cubic, from: s1, to: d1, tcp: cubic}}
  - {{name: own, from: s2, to: d2, tcp: {algorithm}, start: 1 s}}
duration: 40 s
"""


def run(folder: Path, text: str) -> dumbbell.Results:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file)


@pytest.fixture(scope="module")
def lab() -> object:
    """Runs each experiment once for all cases."""
    return cases.Lab()


def test_there_are_the_22_cases_of_the_draft() -> None:
    assert list(cases.CASES) == list(range(1, 23))


@pytest.mark.parametrize("number", cases.CASES)
def test_a_state_case(number: int, lab: object) -> None:
    seen = cases.CASES[number].see(lab)
    assert seen.verdict == DIFFERENT.get(number, "as the draft"), seen.text


def test_it_shares_a_short_buffer_with_cubic_where_version_1_does_not(tmp_path: Path) -> None:
    """Kernels: version 1 takes 16.5 of 19.1 Mbit/s, version 3 takes 9.0."""
    shares = {}
    for algorithm in ("bbr", "bbr3"):
        flows = run(tmp_path, BESIDE.format(algorithm=algorithm)).flows
        sent = dict(flows.select("flow", "delivered_bytes").iter_rows())
        shares[algorithm] = sent["own"] / (sent["own"] + sent["cubic"])
    assert shares["bbr"] > 0.75
    assert 0.35 < shares["bbr3"] < 0.65
