"""Words about a direction of a link: rate, delay, queue, loss, changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.limits.pipes import delay_ns
from dumbbell.metrics.numbers import number
from dumbbell.scenario import Pipe


def pipe_words(pipe: Pipe) -> list[str]:
    """Words about a pipe: rate, delay, queue, loss, the most important first."""
    words = []
    shaper: Any = pipe["shaper"]
    if isinstance(shaper, Mapping):
        (name, settings), *_ = shaper.items()
        rate = settings.get("rate_bps")
        words.append(rate_words(rate) if rate else name)
    kind, limits = next(iter(pipe["queue"].items()))
    if kind == "htb":
        words.append(rate_words(limits["rate_bps"]))
        if len(limits["classes"]) == 1:
            kind, limits = next(iter(limits["classes"][0]["queue"].items()))
    if kind == "cake" and limits["bandwidth_bps"]:
        words.append(rate_words(limits["bandwidth_bps"]))
    if delay := delay_ns(pipe):
        words.append(f"{delay / 1e6:g} ms")
    if kind not in ("drop_tail", "netem"):
        words.append(kind)
    elif words and limits.get("limit_packets"):
        words.append(f"{limits['limit_packets']} packets")
    if pipe["loss"] != "none":
        words.append(loss_words(pipe["loss"]))
    own = limits.get("words") if kind == "netem" else None
    if own and own["loss"] != "none":
        words.append(loss_words(own["loss"]))
    return words


def size_words(size_bytes: float) -> str:
    """`12.21 KiB`; from 10 MiB on `16 MiB`. Experiment files count sizes in these units, too."""
    large = size_bytes >= 10 << 20
    return f"{number(size_bytes / (1 << (20 if large else 10)))} {'MiB' if large else 'KiB'}"


def rate_words(bps: int) -> str:
    """`10 Mbit/s`."""
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= size:
            return f"{bps / size:g} {unit}"
    return f"{bps} bit/s"


def loss_words(loss: Mapping[str, Any]) -> str:
    """`1 % loss`."""
    for kind in ("independent", "random"):
        if kind in loss:
            return f"{loss[kind]['probability'] * 100:g} % loss"
    return f"{next(iter(loss)).replace('_', '–')} loss"


def change_words(change: Mapping[str, Any]) -> str:
    """Words about a change of a link: `5 Mbit/s and 1 % loss`."""
    new = [rate_words(change["rate_bps"])] if change["rate_bps"] else []
    new += [f"delay {change['delay_ns'] / 1e6:g} ms"] if change["delay_ns"] is not None else []
    if change["loss"] is not None:
        new.append("no loss" if change["loss"] == "none" else loss_words(change["loss"]))
    new += [change["state"]] if change.get("state") else []
    return " and ".join(new)
