"""Languages that are translated, and how a text is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath

from dumbbell.translate import shown
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network, of_script
from dumbbell.translate.tc import read_script


def _tc(text: str, file: str) -> Network:
    return of_script(read_script(text, file))


def _mininet(text: str, file: str) -> Network:
    from dumbbell.translate.mininet import read

    return read(text, file)


def _kubernetes(text: str, file: str) -> Network:
    from dumbbell.translate.kubernetes import read

    return read(text, file)


def _cni(text: str, file: str) -> Network:
    from dumbbell.translate.cni import read

    return read(text, file)


def _compose(text: str, file: str) -> Network:
    from dumbbell.translate.compose import read

    return read(text, file)


def _toxiproxy(text: str, file: str) -> Network:
    from dumbbell.translate.toxiproxy import read

    return read(text, file)


def _tcconfig(text: str, file: str) -> Network:
    from dumbbell.translate.tcconfig import read

    return read(text, file)


def _sqm(text: str, file: str) -> Network:
    from dumbbell.translate.sqm import read

    return read(text, file)


READERS: dict[str, Callable[[str, str], Network]] = {
    "tc": _tc,
    "mininet": _mininet,
    "kubernetes": _kubernetes,
    "cni": _cni,
    "compose": _compose,
    "toxiproxy": _toxiproxy,
    "tcconfig": _tcconfig,
    "sqm": _sqm,
}
TITLES = {
    "tc": "commands of tc",
    "mininet": "a mininet topology",
    "kubernetes": "Kubernetes annotations",
    "cni": "a CNI configuration",
    "compose": "a compose file",
    "toxiproxy": "toxiproxy's JSON",
    "tcconfig": "tcconfig's JSON",
    "sqm": "OpenWrt's SQM settings",
}
EXAMPLES = {
    "tc": ("tc qdisc add dev eth0 root netem delay 100ms",),
    "mininet": ("net.addLink(h1, s1, cls=TCLink, bw=10, delay='5ms')", "bw=10, delay='5ms'"),
    "kubernetes": ("kubernetes.io/egress-bandwidth: 10M",),
    "cni": ('{"type": "bandwidth", "ingressRate": 10000000, "ingressBurst": 100000}',),
    "compose": ("command: netem --duration 5m delay --time 100 app",),
    "toxiproxy": ('{"type": "latency", "attributes": {"latency": 100, "jitter": 10}}',),
    "tcconfig": ('{"eth0": {"outgoing": {"protocol=ip": {"delay": "10ms", "rate": "1Mbps"}}}}',),
    "sqm": ("option download '50000'",),
}
_SIGNS = (
    (
        "sqm",
        re.compile(
            r"^\s*config\s+queue\b|^\s*option\s+(?:download|upload|script)\b|\bsqm\.[\w@\[\]-]+\.(?:download|upload|enabled)\b",
            re.MULTILINE,
        ),
    ),
    ("kubernetes", re.compile(r"kubernetes\.io/\w{0,20}-bandwidth")),
    (
        "mininet",
        re.compile(
            r"\baddLink\s*\(|\bTCLink\b|\bTCIntf\b|^\s*(?:link_?opts\s*=\s*)?(?:dict\()?\W{0,3}bw\W{0,2}\s*[=:]",
            re.MULTILINE,
        ),
    ),
    (
        "compose",
        re.compile(
            r"^services\s*:|^version\s*:.*\n(?:.*\n){0,40}services\s*:",
            re.MULTILINE,
        ),
    ),
)


def recognised(text: str, file: str) -> str:
    """Name of the language of a text. Raises `TranslateError` if it is none of `READERS`."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start in ("{", "["):
        json_kind = _json_kind(text)
        if json_kind is not None:
            return json_kind
    for name, sign in _SIGNS:
        if sign.search(text[:200_000]):
            return name
    if PurePath(file).suffix == ".py":
        return "mininet"
    if shown.LINE.search(text[:200_000]):
        return "tc"
    if re.search(r"(?:^|[\s;&|(/\"'`])tc\s|\$\{?TC|\bip\s+link\b|\bpumba\b", text) is not None:
        return "tc"
    raise TranslateError("no words that can be translated", file=file, allowed=TITLES.values())


def _json_kind(text: str) -> str | None:
    """Language of a JSON text, by words that only one of them has."""
    head = text[:500_000]
    if re.search(r'"(?:ingress|egress)(?:Rate|Burst)"', head):
        return "cni"
    if re.search(r'"(?:outgoing|incoming)"\s*:', head):
        return "tcconfig"
    if re.search(r'"kubernetes\.io/', head):
        return "kubernetes"
    if re.search(r'"(?:toxics|toxicity|upstream|attributes|latency)"', head):
        return "toxiproxy"
    return None
