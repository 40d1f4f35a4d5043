"""Configuration of the CNI plug-in `bandwidth`: rates in bit/s, bursts in bits."""

from __future__ import annotations

from dumbbell.translate.bandwidth import add_pod
from dumbbell.translate.fields import line_of, mappings, parsed, whole
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network

_WAYS = ("ingress", "egress")


def read(text: str, file: str) -> Network:
    """Reads all limits. Raises `TranslateError`."""
    made = Network()
    for _, one in mappings(parsed(text, file)):
        limits: dict[str, tuple[int, int, int]] = {}
        for way in _WAYS:
            if f"{way}Rate" not in one and f"{way}Burst" not in one:
                continue
            line = line_of(text, f"{way}Rate" if f"{way}Rate" in one else f"{way}Burst")
            rate = whole(one.get(f"{way}Rate", 0), f"{way}Rate", file, line)
            burst = whole(one.get(f"{way}Burst", 0), f"{way}Burst", file, line, 2**35)
            if bool(rate) != bool(burst >= 8):
                missing = f"{way}Burst" if rate else f"{way}Rate"
                raise TranslateError(f"{missing} must be set too", file=file, line=line)
            if rate:
                limits[way] = (line, rate, burst)
        if limits and len(made.flows) < 100:
            add_pod(made, "pod", limits, file)
    return made
