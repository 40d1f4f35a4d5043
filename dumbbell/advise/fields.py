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
    words = netem.get("words")
    if words:
        del made["jitter"]
        own = words_fields(words, made.pop("delay"), changed.get("spread_ns"))
        made = {"delay": own.pop("delay"), **own}
    return {**made, "limit": f"{limit} packets"}


def words_fields(words: Any, delay: str, spread_ns: int | None = None) -> dict[str, Any]:
    """Words of a netem as fields, with another jitter if one is given."""
    curve, loss = words["distribution"], words["loss"]
    mean: dict[str, Any] = {"mean": delay, "correlation": _shares(words["delay_correlation"])}
    mean["jitter"] = time_text(words["jitter_ns"] if spread_ns is None else spread_ns)
    if spread_ns is None and isinstance(curve, str):
        mean["distribution"] = curve
    made = {"delay": mean, **{name: _shares(words[name]) for name in ("duplicate", "corrupt")}}
    if loss != "none":
        made |= {"loss": _shares(loss), "ecn": words["ecn"]}
    if words["reorder"]:
        made["reorder"] = _shares(words["reorder"])
    if words["seed"] is not None:
        made["seed"] = words["seed"]
    return made


def _shares(value: Any) -> Any:
    """A value in which shares of 1 have their unit."""
    if isinstance(value, dict):
        return {name: each if name == "gap" else _shares(each) for name, each in value.items()}
    return f"{100 * value:.6f} %"


def deeper(pipe: Any, kind: str, burst: int) -> dict[str, Any]:
    """Fields of a pipe whose token bucket has another depth."""
    if kind == "tbf":
        tbf = pipe["shaper"]["tbf"]
        bucket = {"rate": bits(tbf["rate_bps"]), "burst": f"{burst} bytes", "initial": "full"}
        return {"shaper": {"tbf": bucket}}
    htb = pipe["queue"]["htb"]
    spec = {"rate": bits(htb["rate_bps"]), "burst": f"{burst} bytes", "queue": "pfifo"}
    return {"queue": {"htb": spec}}
