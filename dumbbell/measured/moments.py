"""Times in logs, as `date` and `ts` write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

#: Seconds of a day. A smaller time is one of a clock, counted from midnight.
DAY_S = 86_400.0
#: Before a time: `Time: 1700000000`, `# 1700000000`.
_BEFORE = re.compile(r"(?:[#=-]+\s*)?(?:(?:timestamp|time|date):?\s*)?", re.IGNORECASE)
_EPOCH = re.compile(r"\d{9,11}(?:\.\d{1,9})?")
#: Seconds since 1970 and their fraction without a point: `date +%s%3N`, `date +%s%N`.
_WHOLE = re.compile(r"\d{13}|\d{16}|\d{19}")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: ?(Z|[+-]\d\d:?\d\d|[A-Z]+))?"
)
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)")
#: `date` alone, in the locales C and en_US.
_DATE = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d)( [AP]M)? \S{1,6} (\d{4})"
)
_LEADING = re.compile(r"(\d{10}(?:\.\d{1,9})?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)(?=\s+\S)")


def moment_of(line: str) -> float | None:
    """Seconds of a line that is a time: since 1970, or since midnight. None: it is none."""
    text = _BEFORE.sub("", line.strip(), count=1).rstrip(" #=-")
    if _EPOCH.fullmatch(text):
        return float(text)
    if _WHOLE.fullmatch(text):
        return float(f"{text[:10]}.{text[10:]}")
    if clock := _CLOCK.fullmatch(text):
        return 3600 * int(clock[1]) + 60 * int(clock[2]) + float(clock[3])
    try:
        if date := _DATE.fullmatch(text):
            form = "%b %d %H:%M:%S %Y" if date[4] is None else "%b %d %I:%M:%S %p %Y"
            words = f"{date[1]} {date[2]} {date[3]}{date[4] or ''} {date[5]}"
            return datetime.strptime(words, form).replace(tzinfo=UTC).timestamp()
        if iso := _ISO.fullmatch(text):
            zone = iso[2] if iso[2] and not iso[2].isalpha() else "+00:00"
            return datetime.fromisoformat(iso[1].replace(",", ".") + zone).timestamp()
    except (ValueError, OverflowError):
        return None
    return None


def leading_moment(line: str) -> tuple[float | None, str]:
    """Time before a line, as `ts '%.s'` writes it, and the rest of the line. None: no time."""
    found = _LEADING.match(line)
    time = None if found is None else moment_of(found[1])
    return (None, line) if found is None or time is None else (time, line[found.end() :])
