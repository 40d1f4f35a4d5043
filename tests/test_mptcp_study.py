"""Study 3's table against itself: what its columns must be, from its own numbers."""

from __future__ import annotations

import csv
from pathlib import Path

TABLE = Path(__file__).parents[1] / "studies" / "mptcp" / "table-1.csv"
#: Both bottlenecks of 1 Mbit/s from 0.1 s to 100 s, in packets of 576 bytes.
CAPACITY_PACKETS = 2 * 1e6 * 99.9 / 8 / 576


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_sending_time_is_packets_lost_in_thousands() -> None:
    for row in rows():
        sent = int(row["packets_sent"])
        for kind in ("tcp", "mptcp"):
            lost = (sent - int(row[f"received_{kind}"])) / 1000
            assert lost == float(row[f"lost_{kind}_thousands"])
            printed = row[f"lost_{kind}_as_printed"]
            # At 15 ms two digits are swapped.
            swapped = kind == "mptcp" and row["rtt_ms"] == "15"
            assert printed == ("12.689 s" if swapped else f"{lost:.3f} s")


def test_shares_of_loss_are_those_that_the_claims_judge() -> None:
    shares = {
        kind: [
            round(1 - int(row[f"received_{kind}"]) / int(row["packets_sent"]), 3) for row in rows()
        ]
        for kind in ("mptcp", "tcp")
    }
    assert shares["tcp"] == [0.343, 0.374, 0.298, 0.541, 0.337]
    assert shares["mptcp"] == [0.067, 0.057, 0.068, 0.067, 0.042]
    # The text has 5.60 % at 15 ms, by the swapped digits, and 23 % at 100 ms.
    assert round(100 * 12_689 / int(rows()[1]["packets_sent"]), 1) == 5.6
    assert shares["tcp"][4] != 0.23


def test_it_counts_more_than_the_network_can_carry() -> None:
    for row in rows():
        assert int(row["received_mptcp"]) > 4 * CAPACITY_PACKETS
