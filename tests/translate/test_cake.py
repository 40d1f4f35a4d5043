"""Words of cake as `q_cake.c` of iproute2 reads them."""

from __future__ import annotations

import pytest

from tests.translate.helpers import lost, of, pipes

ROOT = "tc qdisc add dev eth0 root cake bandwidth 20mbit"


@pytest.mark.parametrize(
    ("words", "atm", "overhead", "mpu"),
    [
        ("pppoe-ptm ether-vlan", "ptm", 34, None),
        ("ether-vlan pppoe-ptm", "ptm", 34, None),
        ("ethernet ether-vlan ether-vlan", None, 46, 84),
        ("atm overhead 10 ether-vlan", "atm", 14, None),
        ("bridged-llcsnap conservative", "atm", 48, None),
        ("docsis overhead 20", "noatm", 20, 64),
        ("raw overhead 18", None, 32, None),
        ("ptm raw", None, 14, None),
    ],
)
def test_keywords_of_framing_add_up(
    words: str, atm: str | None, overhead: int, mpu: int | None
) -> None:
    """A VLAN tag adds 4 bytes; it leaves the 64/65 encoding of PTM as it was."""
    cake = pipes(f"{ROOT} {words}")["queue"]["cake"]
    assert cake.get("overhead_bytes") == overhead
    assert (cake.get("mpu_bytes") or None) == mpu
    assert (cake.get("atm") or "noatm") == (atm or "noatm")


def test_defaults_are_not_said_to_be_lost() -> None:
    assert lost("tc qdisc add dev eth0 root cake unlimited nowash nonat") == []


def test_diffserv_is_diffserv4() -> None:
    assert "diffserv: diffserv4" in of(f"{ROOT} diffserv").text


@pytest.mark.parametrize("bandwidth", ["19Mbit", "unlimited"])
@pytest.mark.parametrize(
    ("framing", "overhead"),
    [
        ("ptm overhead 30 via-ethernet mpu 0", 30),
        ("raw overhead 0", 14),
        ("raw overhead 0 mpu 64", 14),
    ],
)
def test_lines_that_tc_shows(framing: str, overhead: int, bandwidth: str) -> None:
    """`tc qdisc show` of an OpenWrt router."""
    text = (
        f"qdisc cake 8001: dev eth0 root refcnt 9 bandwidth {bandwidth} diffserv3 triple-isolate "
        f"nonat nowash no-ack-filter split-gso rtt 100ms {framing}\n"
    )
    assert pipes(text)["queue"]["cake"]["overhead_bytes"] == overhead
    assert lost(text) == []
