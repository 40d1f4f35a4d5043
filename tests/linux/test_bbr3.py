"""The state cases of draft-ietf-ccwg-bbr on a kernel with the patch of BBR v3."""

from __future__ import annotations

import pytest

from dumbbell.engines.linux.kernel import kernels
from tests.bbr3_cases import load
from tests.test_bbr3 import DIFFERENT

cases = load()
BBR3 = "bbr3"
HAS_BBR3 = BBR3 in {built.name for built in kernels()}


@pytest.fixture(scope="module")
def lab() -> object:
    """Runs each experiment once for all cases."""
    return cases.Lab(f"linux:{BBR3}")


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.skipif(not HAS_BBR3, reason="dumbbell kernel build --patch … --name bbr3")
@pytest.mark.parametrize("number", cases.CASES)
def test_a_state_case(number: int, lab: object) -> None:
    seen = cases.CASES[number].see(lab)
    assert seen.verdict == DIFFERENT.get(number, "as the draft"), seen.text
