"""Pages from HAR files (HTTP Archive 1.2), as browsers' developer tools save them.

Files are untrusted: every value is checked. Unusable values are left out or repaired, with a note
for each repair.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError, shortened
from dumbbell.files.input import TooLargeError, read_file

#: Maximum file size. Larger files contain the text of responses, which is not needed.
MOST_BYTES = 64 << 20
MOST_OBJECTS = 20_000
#: Assumed size of a message of unknown length: headers alone.
_HEADERS_BYTES = 400
#: Maximum plausible time of a server.
_SERVICE_MAX_MS = 60_000.0
_BYTES_MAX = 1 << 40


@dataclass(frozen=True)
class HarObject:
    """Object of a page, as a browser loaded it."""

    name: str
    host: str
    request_bytes: int
    response_bytes: int
    #: Indices of the objects that it waits for, all smaller than its own.
    after: tuple[int, ...]
    delay_ms: float
    service_ms: float


@dataclass(frozen=True)
class HarPage:
    """Page, with notes about repairs and omissions."""

    objects: list[HarObject]
    notes: list[str] = field(default_factory=list)


@dataclass
class _Entry:
    url: str
    host: str
    start_ms: float
    end_ms: float
    wait_ms: float
    request_bytes: int
    response_bytes: int
    initiator: str | None


class _Repairs:
    """Counts of repairs, by noun (one, several) and what was repaired."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str], int] = {}

    def note(self, what: str, one: str = "entry", several: str = "entries") -> None:
        key = (one, several, what)
        self.counts[key] = self.counts.get(key, 0) + 1

    def words(self) -> list[str]:
        return [
            f"{many(count, one, several)} {what}"
            for (one, several, what), count in self.counts.items()
        ]


def read_har(path: Path, page: str | None = None) -> HarPage:
    """Reads a page of a HAR file. `page`: number from 1, or id; None: the first.

    Raises:
        DumbbellError: The file is not HAR, with the position of the error; or the page is missing.
    """
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig")
    except TooLargeError as error:
        raise DumbbellError(
            f"{path}: {error.size >> 20} MiB; at most {MOST_BYTES >> 20} MiB are read: save it "
            "without content",
            code=Code.HAR,
        ) from None
    except OSError as error:
        raise DumbbellError(
            f"{path}: cannot be read: {error.strerror or error}", code=Code.HAR
        ) from None
    except UnicodeDecodeError as error:
        raise DumbbellError(f"{path}: no UTF-8 at byte {error.start}", code=Code.HAR) from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}"
        raise DumbbellError(
            f"{place}: no HAR file: {error.msg} at column {error.colno}", code=Code.HAR
        ) from None
    except RecursionError:
        raise DumbbellError(f"{path}: no HAR file: nested too deeply", code=Code.HAR) from None
    return page_of(data, str(path), page)


def page_of(data: Any, origin: str, page: str | None = None) -> HarPage:
    """Returns a page of a HAR file's data, see `read_har`. Raises `DumbbellError`."""
    log = data.get("log") if isinstance(data, Mapping) else None
    entries = log.get("entries") if isinstance(log, Mapping) else None
    if not isinstance(entries, list):
        raise DumbbellError(f"{origin}: no HAR file: log.entries is missing", code=Code.HAR)
    if len(entries) > MOST_OBJECTS:
        raise DumbbellError(
            f"{origin}: {len(entries)} entries; at most {MOST_OBJECTS}", code=Code.HAR
        )
    entries, notes = _of_page(log, entries, origin, page)
    repairs = _Repairs()
    read = [found for entry in entries if (found := _entry(entry, repairs)) is not None]
    if not entries:
        raise DumbbellError(f"{origin}: no HAR file: log.entries is empty", code=Code.HAR)
    if not read:
        raise DumbbellError(
            f"{origin}: no entry can be used; " + "; ".join(repairs.words()), code=Code.HAR
        )
    read.sort(key=lambda entry: entry.start_ms)
    objects = [_object(read, place, repairs) for place in range(len(read))]
    return HarPage(objects, notes + repairs.words())


def _of_page(
    log: Any, entries: Sequence[Any], origin: str, page: str | None
) -> tuple[Sequence[Any], list[str]]:
    """Entries of one page, and a note if there are several pages."""
    refs = [_mapping(entry).get("pageref") for entry in entries]
    listed = log.get("pages") if isinstance(log.get("pages"), list) else []
    ids = [_mapping(one).get("id") for one in listed[:MOST_OBJECTS]] + refs
    # Listed pages with objects, then pages that only entries name.
    used = {ref for ref in refs if isinstance(ref, str)}
    pages = list(dict.fromkeys(one for one in ids if isinstance(one, str) and one in used))
    if len(pages) < 2 and page is None:
        return entries, []
    chosen = pages[0] if page is None else _chosen(pages, page, origin)
    mine = [entry for entry, ref in zip(entries, refs, strict=True) if ref == chosen]
    notes = []
    if len(pages) > 1:
        number = pages.index(chosen) + 1
        which = f"page {number} of {len(pages)} ({shortened(chosen, 60)}) is taken"
        notes.append(which + ("; --page takes another, by number or id" if page is None else ""))
        lost = len(entries) - sum(isinstance(ref, str) for ref in refs)
        if lost:
            notes.append(f"{many(lost, 'entry', 'entries')} of no page: left out")
    return mine, notes


def _chosen(pages: Sequence[str], page: str, origin: str) -> str:
    if page in pages:
        return page
    # Only ASCII digits are a number.
    if page.isascii() and page.isdigit() and len(page) < 9 and 1 <= int(page) <= len(pages):
        return pages[int(page) - 1]
    if not pages:
        raise DumbbellError(f"{origin}: --page {page}: no entry names a page", code=Code.HAR)
    shown = ", ".join(shortened(one, 40) for one in pages[:10])
    more = ", …" if len(pages) > 10 else ""
    raise DumbbellError(
        f"{origin}: --page {shortened(page, 60)}: there is no such page; "
        f"allowed: 1 to {len(pages)}, or {shown}{more}",
        code=Code.HAR,
    )


def _entry(entry: Any, repairs: _Repairs) -> _Entry | None:
    if not isinstance(entry, Mapping):
        repairs.note("of another kind: left out")
        return None
    request, response = _mapping(entry.get("request")), _mapping(entry.get("response"))
    url = request.get("url")
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = parts.hostname if parts is not None and parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not isinstance(url, str) or not host:
        repairs.note("without a web address: left out")
        return None
    start_ms = _start_ms(entry.get("startedDateTime"))
    if start_ms is None:
        repairs.note("without a start: begun with the page")
        start_ms = -math.inf
    took_ms = _number(entry.get("time"))
    if took_ms is None or took_ms < 0:
        repairs.note("without a duration: 0 s")
        took_ms = 0.0
    wait_ms = _number(_mapping(entry.get("timings")).get("wait"))
    if wait_ms is None or not 0 <= wait_ms <= _SERVICE_MAX_MS:
        repairs.note("without a time of waiting: answered at once")
        wait_ms = 0.0
    return _Entry(
        url=url,
        host=host,
        start_ms=start_ms,
        end_ms=start_ms + took_ms,
        wait_ms=wait_ms,
        request_bytes=_length(request, "request", repairs),
        response_bytes=_length(response, "answer", repairs),
        initiator=_initiator(entry.get("_initiator")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _start_ms(value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1e3
    except (ValueError, OverflowError, OSError):
        return None


def _length(message: Mapping[str, Any], what: str, repairs: _Repairs) -> int:
    """Size of a message in bytes: as transferred, else body and headers, else assumed."""
    transferred = _number(message.get("_transferSize"))
    if transferred is not None and 0 < transferred <= _BYTES_MAX:
        return int(transferred)
    headers, body = _number(message.get("headersSize")), _number(message.get("bodySize"))
    if body is None or body < 0:
        body = _number(_mapping(message.get("content")).get("size"))
    if headers is None or headers < 0:
        headers = float(_HEADERS_BYTES)
    if body is None or not 0 <= body <= _BYTES_MAX:
        repairs.note("of unknown or impossible size: headers alone", what, f"{what}s")
        body = 0.0
    return max(1, int(min(headers, float(1 << 20)) + body))


def _initiator(value: Any) -> str | None:
    """URL of the initiator of an object, as Chromium writes it."""
    url = _mapping(value).get("url")
    if isinstance(url, str):
        return url
    frames = _mapping(_mapping(value).get("stack")).get("callFrames")
    if isinstance(frames, list) and frames:
        url = _mapping(frames[0]).get("url")
    return url if isinstance(url, str) else None


def _object(entries: Sequence[_Entry], place: int, repairs: _Repairs) -> HarObject:
    entry = entries[place]
    before = _before(entries, place, repairs)
    first = entries[0].start_ms
    if before is None:
        delay_ms = entry.start_ms - first if math.isfinite(entry.start_ms - first) else 0.0
    else:
        delay_ms = entry.start_ms - entries[before].end_ms
        if delay_ms < 0:
            repairs.note(
                "begun before its initiator was complete: begun after it", "object", "objects"
            )
            delay_ms = 0.0
    return HarObject(
        name=_name(place, entry.url),
        host=entry.host,
        request_bytes=entry.request_bytes,
        response_bytes=entry.response_bytes,
        after=() if before is None else (before,),
        delay_ms=delay_ms if math.isfinite(delay_ms) else 0.0,
        service_ms=entry.wait_ms,
    )


def _before(entries: Sequence[_Entry], place: int, repairs: _Repairs) -> int | None:
    """Initiator of an object: an earlier object, so that no object waits for itself."""
    entry = entries[place]
    if place == 0:
        return None
    if entry.initiator is not None:
        for other in range(place):
            if entries[other].url == entry.initiator:
                return other
        if any(later.url == entry.initiator for later in entries[place:]):
            repairs.note(
                "with a later one, or itself, as initiator: the first object takes its place",
                "object",
                "objects",
            )
    return 0 if entry.start_ms > entries[0].start_ms else None


def _name(place: int, url: str) -> str:
    last = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    plain = re.sub(r"[^\w.-]+", "-", last, flags=re.ASCII)[:40].strip("-.") or "index"
    return f"{place + 1}-{plain}"


def experiment(
    page: HarPage,
    origin: str,
    *,
    rate_bps: int,
    rtt_ns: int,
    buffer: str,
    protocol: str,
    tls: str,
    congestion_control: str,
) -> str:
    """Text of an experiment file with the page: a browser, a line, a server per host name."""
    hosts = list(dict.fromkeys(one.host for one in page.objects))
    names = {host: f"server{number}" for number, host in enumerate(hosts, 1)}
    half_ms = rtt_ns / 2e6
    lines = [
        f"# From {shortened(origin)}, by `dumbbell workload from-har`.",
        *(f"# {shortened(note, 200)}" for note in page.notes),
        "dumbbell: 1",
        f"name: {json.dumps('page-' + _plain(origin))}",
        "hosts:",
        "  browser: {}",
        *(f"  {name}: {{}}  # {_plain(host)}" for host, name in names.items()),
        "routers: {isp: {}, modem: {}}",
        "links:",
        "  - {between: [modem, browser]}",
        "  - name: line",
        "    between: [isp, modem]",
        f"    rate: {rate_bps} bit/s",
        f"    delay: {half_ms:.6f} ms",
        f"    buffer: {json.dumps(buffer)}",
        *(f"  - {{between: [{name}, isp]}}" for name in names.values()),
        "pages:",
        "  - name: page",
        "    client: browser",
        "    server: server1",
        "    start_jitter: 100 ms",
        f"    protocol: {protocol}",
        f"    tls: {json.dumps(tls)}",
        f"    congestion_control: {json.dumps(congestion_control)}",
        "    objects:",
    ]
    for one in page.objects:
        fields: dict[str, Any] = {"name": one.name, "size": f"{one.response_bytes} bytes"}
        fields["request"] = f"{one.request_bytes} bytes"
        if one.host != hosts[0]:
            fields["server"] = names[one.host]
        if one.after:
            fields["after"] = [page.objects[place].name for place in one.after]
        if one.delay_ms > 0:
            fields["delay"] = f"{one.delay_ms:.3f} ms"
        if one.service_ms > 0:
            fields["service"] = f"{one.service_ms:.3f} ms"
        lines.append(f"      - {json.dumps(fields)}")
    total = sum(one.response_bytes for one in page.objects)
    waits_s = sum(one.delay_ms + one.service_ms for one in page.objects) / 1e3
    duration = math.ceil(10 + 4 * 8 * total / rate_bps + min(waits_s, 3600))
    lines += [f"duration: {duration} s", "repeats: 10"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII)[:60].strip("-")
