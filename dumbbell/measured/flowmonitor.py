"""XML of ns-3's FlowMonitor. Source of the fields: src/flow-monitor/model/flow-monitor.cc of ns-3.

A document type is refused, and with it entities.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from dumbbell.errors import shortened
from dumbbell.measured.values import MOST_NS, Format, Measured, MeasuredError, Row, life, plain_name

#: Bytes of an Ethernet header; FlowMonitor counts IP packets.
_ETHERNET = 14
#: Bytes of the headers of IPv4 and UDP, and of IPv6 and UDP.
_UDP = {"Ipv4FlowClassifier": 28, "Ipv6FlowClassifier": 48}
_KINDS = {"6": "tcp", "17": "udp"}
_TIME = re.compile(r"([+-]?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?)ns")
_COUNT = re.compile(r"\d{1,18}")
_MOST_FLOWS = 200_000

Attributes = dict[str, str]


def looks(data: bytes) -> bool:
    """Returns true if data begin like a file of FlowMonitor."""
    return b"<FlowMonitor" in data[:4096]


class _Document:
    """Elements of a file that are of interest."""

    def __init__(self) -> None:
        self._inside: list[str] = []
        self.stats: dict[str, tuple[int, Attributes]] = {}
        self.names: dict[str, tuple[str, Attributes]] = {}
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._inside.pop()
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            place = f"line {error.lineno}, column {error.offset + 1}"
            text = expat.errors.messages.get(error.code, "") or str(error)
            raise MeasuredError(place, f"not XML, or cut off: {text}") from None

    def _refuse(self, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise MeasuredError(f"line {line}", "a document type, which FlowMonitor does not write")

    def _start(self, name: str, attributes: Attributes) -> None:
        above = self._inside[-1] if self._inside else ""
        self._inside.append(name)
        if len(self._inside) == 1 and name != "FlowMonitor":
            raise MeasuredError("line 1", f"not a file of FlowMonitor: <{shortened(name, 30)}>")
        if name != "Flow":
            return
        line, key = self._parser.CurrentLineNumber, attributes.get("flowId", "")
        if above == "FlowStats":
            if key in self.stats:
                raise MeasuredError(f"line {line}", f"flow {shortened(key, 20)} twice")
            self.stats[key] = line, attributes
        elif above in _UDP:
            self.names[key] = above, attributes
        if len(self.stats) > _MOST_FLOWS:
            raise MeasuredError(f"line {line}", f"more than {_MOST_FLOWS} flows")


def read(data: bytes) -> Measured:
    """Flows of a file. Of a TCP connection, the direction with more bytes is its flow.

    Raises `MeasuredError` with the line.
    """
    document, found = _Document(), Measured()
    document.read(data)
    found.about = {"tool": "ns-3 FlowMonitor"}
    flows: dict[tuple[str, str], tuple[int, Row]] = {}
    for key, (line, stats) in document.stats.items():
        row = _row(line, stats)
        classifier, names = document.names.get(key, ("", {}))
        if row is None or not names:
            found.note(
                f"line {line}: flow {shortened(key, 20)} has no length, or no addresses; left out"
            )
            continue
        kind = _KINDS.get(names.get("protocol", ""), "")
        if not kind:
            found.note(
                f"line {line}: protocol {shortened(names.get('protocol', ''), 20)} is "
                "neither TCP nor UDP; left out"
            )
            continue
        ends = tuple(
            plain_name(f"{names.get(f'{end}Address', '?')}:{names.get(f'{end}Port', '?')}")
            for end in ("source", "destination")
        )
        row |= {"flow": "→".join(ends), "kind": kind, "from_host": ends[0], "to_host": ends[1]}
        received = _count(line, stats, "rxBytes")
        if kind == "udp":
            row["delivered_bytes"] = max(
                0, received - _UDP[classifier] * _count(line, stats, "rxPackets")
            )
        other = flows.get((ends[1], ends[0]))
        if kind == "tcp" and other is not None and other[1]["kind"] == "tcp":
            if other[0] >= received:
                continue
            del flows[ends[1], ends[0]]
        flows[ends[0], ends[1]] = received, row
    found.flows = [row for _, row in flows.values()]
    return found


def _row(line: int, stats: Attributes) -> Row | None:
    """Columns of a flow; None: it has no length."""
    sent, received = (_count(line, stats, f"{way}Packets") for way in ("tx", "rx"))
    # Of a flow whose packets are all lost, the time of the last one sent is its end.
    lost = received == 0 and "timeLastTxPacket" in stats
    last = "timeLastTxPacket" if lost else "timeLastRxPacket"
    begin, end = (_time(line, stats, name) for name in ("timeFirstTxPacket", last))
    if end <= begin:
        return None
    sizes = [_count(line, stats, f"{way}Bytes") for way in ("tx", "rx")]
    return {
        **life(begin, end),
        "sent_packets": sent,
        "received_packets": received,
        "sent_bytes": sizes[0] + _ETHERNET * sent,
        "received_bytes": sizes[1] + _ETHERNET * received,
    }


def _time(line: int, stats: Attributes, name: str) -> int:
    found = _TIME.fullmatch(stats.get(name, ""))
    time = float(found[1]) if found else -1.0
    if not 0 <= time <= MOST_NS:
        text = shortened(stats.get(name, ""), 30)
        raise MeasuredError(f"line {line}", f"{name} is no time in ns: {text!r}")
    return round(time)


def _count(line: int, stats: Attributes, name: str) -> int:
    text = stats.get(name, "")
    if not _COUNT.fullmatch(text):
        raise MeasuredError(f"line {line}", f"{name} is no count: {shortened(text, 30)!r}")
    return int(text)


FORMAT = Format("flowmonitor", "XML of ns-3's FlowMonitor", 2, looks, read)
