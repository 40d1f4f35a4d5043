"""Parts of a scenario as fields of an experiment file, and settings in words."""

from __future__ import annotations

from typing import Any

from dumbbell.metrics.numbers import number
from dumbbell.translate.units import rate_text, time_text


def bits(bps: float) -> str:
    """A rate in words."""
    return rate_text(round(bps))


def span(ns: float) -> str:
    """A time in words."""
    value, unit = (ns / 1e9, "s") if ns >= 1e9 else (ns / 1e6, "ms")
    return f"{number(value)} {unit}"


def netem_fields(netem: Any, **changed: Any) -> dict[str, Any]:
    """Fields of a netem with `limit`, `delay_ns` or `jitter_ns` changed."""
    made = {
        "delay": time_text(changed.get("delay_ns", netem["delay_ns"])),
        "jitter": time_text(changed.get("jitter_ns", netem["jitter_ns"])),
    }
    limit = changed.get("limit", netem["limit_packets"])
    return {**made, "limit": f"{limit} packets"}


def deeper(pipe: Any, kind: str, burst: int) -> dict[str, Any]:
    """Fields of a pipe whose token bucket has another depth."""
    if kind == "tbf":
        tbf = pipe["shaper"]["tbf"]
        bucket = {"rate": bits(tbf["rate_bps"]), "burst": f"{burst} bytes", "initial": "full"}
        return {"shaper": {"tbf": bucket}}
    htb = pipe["queue"]["htb"]
    spec = {"rate": bits(htb["rate_bps"]), "burst": f"{burst} bytes", "queue": "pfifo"}
    return {"queue": {"htb": spec}}
