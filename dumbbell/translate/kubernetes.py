"""Annotations `kubernetes.io/ingress-bandwidth` and `kubernetes.io/egress-bandwidth` of pods."""

from __future__ import annotations

import re
from fractions import Fraction

from dumbbell.translate.bandwidth import KUBELET_BURST_BITS, add_pod
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network

_LINE = re.compile(
    r"kubernetes\.io/(?P<way>[a-z-]{1,40})[\"']?\s*[:=]\s*[\"']?(?P<value>[^\s\"',}#]*)"
)
_NAME = re.compile(r"^\s*[\"']?name[\"']?\s*:\s*[\"']?([A-Za-z0-9._-]{1,60})")
_KINDS = ("ingress-bandwidth", "egress-bandwidth")
_UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "m": Fraction(1, 1000),
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(?:[eE]([0-9]{1,2}))?([A-Za-z]{0,2})\Z")
#: Bounds of a kubelet (`validateBandwidthIsReasonable`).
_LEAST, _MOST = 10**3, 10**15


def read(text: str, file: str) -> Network:
    """Reads the annotations of all pods. Raises `TranslateError`."""
    made = Network()
    pod, limits = "", dict[str, tuple[int, int, int]]()
    for number, line in enumerate(text.splitlines(), 1):
        named = _NAME.match(line)
        if line.startswith("---"):
            _finish(made, pod, limits, file)
            pod = ""
        elif named is not None and not pod:
            pod = named[1]
        for found in _LINE.finditer(line[:2000]):
            if not found["way"].endswith("bandwidth"):
                continue
            if found["way"] not in _KINDS:
                message = "no such annotation"
                raise TranslateError(
                    message, file=file, line=number, found=found["way"], allowed=_KINDS
                )
            way = found["way"].partition("-")[0]
            if way in limits:
                _finish(made, pod, limits, file)
                pod = ""
            limits[way] = (number, _rate(found["value"], file, number), KUBELET_BURST_BITS)
    _finish(made, pod, limits, file)
    return made


def _finish(made: Network, pod: str, limits: dict[str, tuple[int, int, int]], file: str) -> None:
    if limits and len(made.flows) < 100:
        add_pod(made, pod, limits, file)
    limits.clear()


def _rate(text: str, file: str, line: int) -> int:
    found = _QUANTITY.match(text)
    unit = _UNITS.get(found[3]) if found is not None else None
    allowed = ("10M", "1G", "500k", "1Mi")
    if found is None or unit is None:
        message = "should be a quantity of Kubernetes, in bit/s"
        raise TranslateError(message, file=file, line=line, found=text, allowed=allowed)
    rate = int(Fraction(found[1]) * 10 ** int(found[2] or 0) * unit)
    if not _LEAST <= rate <= _MOST:
        message = "a kubelet takes rates from 1k to 1P"
        raise TranslateError(message, file=file, line=line, found=text, allowed=allowed)
    return rate
