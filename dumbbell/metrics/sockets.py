"""Numbers of TCP sockets of hosts that run programs, from the table `sockets`."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

#: Least share of the most sent bytes of a socket that is drawn over time.
_SOME = 0.01


def socket_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Totals of each socket, from its first row to its last.

    Args:
        rows: Rows of `sockets` of one run with `socket`, the name of each.

    Returns:
        One row per socket: `socket`, `congestion_control`, `from_ns` and `to_ns` (first and last
        row), `sent_bytes` (acknowledged by the last row), `rate_mbps` (payload acknowledged between
        the two over their distance; null for one row), `cwnd_mean` and `cwnd_max` (packets, over
        the rows), `rtt_mean_ms` (mean of known smoothed RTTs), `rtt_min_ms` (least windowed
        minimum), `retransmissions` (segments, by the last row).
    """
    known = {name: pl.col(name).filter(pl.col(name) >= 0) for name in ("srtt_ns", "rtt_min_ns")}
    took_ns = pl.col("time_ns").last() - pl.col("time_ns").first()
    gained = pl.col("acked_bytes").last() - pl.col("acked_bytes").first()
    return rows.group_by("socket", maintain_order=True).agg(
        pl.col("congestion_control").last(),
        pl.col("time_ns").first().alias("from_ns"),
        pl.col("time_ns").last().alias("to_ns"),
        pl.col("acked_bytes").last().alias("sent_bytes"),
        pl.when(took_ns > 0).then(gained * 8e3 / took_ns).alias("rate_mbps"),
        pl.col("cwnd_packets").mean().alias("cwnd_mean"),
        pl.col("cwnd_packets").max().alias("cwnd_max"),
        (known["srtt_ns"].mean() / 1e6).alias("rtt_mean_ms"),
        (known["rtt_min_ns"].min() / 1e6).alias("rtt_min_ms"),
        pl.col("retransmitted_packets").last().alias("retransmissions"),
    )


def among_most(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Sockets that sent at least 1 % of what the one of their run did that sent most.

    Args:
        rows: Rows of `sockets`.
        key: Columns that tell sockets apart, `run` among them.

    Returns:
        One row per socket: `key`, `some` (true: it did).
    """
    sent = rows.group_by(key, maintain_order=True).agg(pl.col("acked_bytes").max())
    most = pl.col("acked_bytes").max().over("run")
    return sent.select(*key, (pl.col("acked_bytes") >= _SOME * most).alias("some"))


def senders(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Rows of the named sockets of a run that sent most, those that sent little left out.

    Args:
        rows: Rows of `sockets` of one run with `socket`, the name of each.
        most: Number of sockets.
    """
    sent = rows.group_by("socket", maintain_order=True).agg(pl.col("acked_bytes").max())
    sent = sent.filter(
        (pl.col("acked_bytes") > 1) & (pl.col("acked_bytes") >= _SOME * pl.col("acked_bytes").max())
    )
    kept = sent.sort("acked_bytes", descending=True, maintain_order=True)["socket"][:most]
    return rows.filter(pl.col("socket").is_in(kept.implode()))
