"""mine as it was written first is Reno: its packets are those of Linux's. `python test_mine.py`"""

import sys
from pathlib import Path

import polars as pl

import dumbbell


def test_mine_is_reno_until_you_change_it(file: str = "FILE") -> None:
    change = {"plugins.mine.file": f"./{file}"}
    flows = dumbbell.run(Path(__file__).parent / "sweep.yaml", set=change).flows
    columns = ["rtt", "repeat", "flow", "delivered_bytes", "retransmitted_packets"]
    mine, reno = (flows.filter(pl.col("cc") == name).select(columns) for name in ("mine", "reno"))
    assert mine.equals(reno), "mine differs from Reno: write here what yours should do"


if __name__ == "__main__":
    test_mine_is_reno_until_you_change_it(*sys.argv[1:])
    print("mine sends the packets of Reno")
