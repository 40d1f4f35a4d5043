"""toxiproxy: JSON of its toxics (`toxics/*.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.translate.fields import line_of, mappings, parsed, whole
from dumbbell.translate.interface import Path
from dumbbell.translate.mistakes import Notes, TranslateError
from dumbbell.translate.network import Flow, Link, Network, safe
from dumbbell.translate.stage import Pipe
from dumbbell.translate.units import rate_text, time_text

_KINDS = (
    "latency",
    "bandwidth",
    "slow_close",
    "timeout",
    "reset_peer",
    "slicer",
    "limit_data",
    "down",
)
_STREAMS = ("downstream", "upstream")
_MS = 10**6


def read(text: str, file: str) -> Network:
    """Reads the toxics of all proxies. Raises `TranslateError`."""
    proxies: dict[str, list[tuple[Mapping[str, Any], int]]] = {}
    after = 1
    for path, one in mappings(parsed(text, file)):
        kind = one.get("type")
        if not isinstance(kind, str) or not (
            "attributes" in one or "toxicity" in one or "stream" in one
        ):
            continue
        line = after = line_of(text, kind, after)
        if kind not in _KINDS:
            raise TranslateError(
                "toxiproxy has no such toxic", file=file, line=line, found=kind, allowed=_KINDS
            )
        proxies.setdefault(path[-2] if len(path) > 1 else "proxy", []).append((one, line))
    made = Network()
    for name, toxics in list(proxies.items())[:50]:
        _proxy(made, name, toxics, file)
    return made


def _proxy(
    made: Network, name: str, toxics: list[tuple[Mapping[str, Any], int]], file: str
) -> None:
    number = "" if not made.flows else str(len(made.flows) + 1)
    client, server, near, far = (
        f"{one}{number}" for one in ("client", "server", "proxy", "upstream")
    )
    link = Link(safe(name, [one.name for one in made.links]), (near, far))
    paths = {"upstream": link.forward, "downstream": link.backward}
    for toxic, line in toxics:
        stream = toxic.get("stream", "downstream")
        if stream not in _STREAMS:
            raise TranslateError(
                "no such stream", file=file, line=line, found=str(stream), allowed=_STREAMS
            )
        _toxic(paths[stream], toxic, line, file)
    if not link.pipes:
        made.notes.all += [
            note for path in paths.values() for notes in path.notes for note in notes.all
        ]
        return
    made.hosts |= {client: None, server: None}
    made.switches += [near, far]
    made.links += [
        Link(f"wire{number}", (client, near)),
        link,
        Link(f"far-wire{number}", (far, server)),
    ]
    if link.backward.pipes:
        made.flows.append(Flow(f"down{number}", (server, client)))
    if link.forward.pipes:
        made.flows.append(Flow(f"up{number}", (client, server)))


def _toxic(path: Path, toxic: Mapping[str, Any], line: int, file: str) -> None:
    kind, notes = str(toxic["type"]), Notes()
    path.notes.append(notes)
    given = toxic.get("attributes")
    attributes = given if isinstance(given, dict) else {}
    path.sources.append((line, f"{kind} {attributes}"[:140]))
    if toxic.get("toxicity", 1) not in (1, 1.0):
        notes.lost(
            line, f"toxicity {toxic['toxicity']}", "no counterpart: all connections are affected"
        )
    if kind == "latency":
        most = 3_600_000
        latency = whole(attributes.get("latency", 0), "latency", file, line, most) * _MS
        jitter = whole(attributes.get("jitter", 0), "jitter", file, line, most) * _MS
        least = max(latency - jitter, 0)
        fields = {"delay": time_text(least)} | (
            {"jitter": time_text(latency + jitter - least)} if jitter else {}
        )
        path.pipes.append(Pipe(dict(fields), delay_ns=latency))
        text = f"delay {time_text(least)}" + (
            f", jitter {time_text(latency + jitter - least)}" if jitter else ""
        )
        notes.became(line, "latency", f"{text}; order is kept")
        notes.lost(
            line,
            "latency",
            "the proxy ends TCP, so its delay is outside of TCP's loop; here it is part of the RTT",
        )
    elif kind == "bandwidth":
        rate = whole(attributes.get("rate", 0), "rate", file, line, 10**12) * 8000
        if not rate:
            raise TranslateError("rate should be above 0 KB/s", file=file, line=line, found="0")
        path.pipes.append(Pipe({"rate": rate_text(rate), "buffer": "1000 packets"}, rate_bps=rate))
        notes.became(line, "bandwidth", f"rate {rate_text(rate)}; KB/s are 8000 bit/s")
        notes.lost(
            line,
            "bandwidth",
            "the proxy stops reading, nothing is lost; here a queue of 1000 packets",
        )
    else:
        notes.lost(line, kind, "no counterpart: it changes connections, not packets")
