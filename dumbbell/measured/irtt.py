"""JSON of irtt (`irtt client -o FILE`). Source of the fields: doc/irtt-client.md of irtt 0.9."""

from __future__ import annotations

from dumbbell.measured.fields import Fields, parsed
from dumbbell.measured.series import Series
from dumbbell.measured.values import Format, Measured, MeasuredError

#: Newest version of its JSON that is read.
_VERSION = 1


def looks(data: bytes) -> bool:
    """Returns true if data are a JSON object with round trips of irtt."""
    return data.lstrip().startswith(b"{") and b'"round_trips"' in data and b'"config"' in data


def read(data: bytes) -> Measured:
    """Round trips as probes. Raises `MeasuredError`."""
    file, found = Fields(parsed(data)), Measured()
    version = file.part("version").count("json_format") or _VERSION
    if version > _VERSION:
        raise MeasuredError("version.json_format", f"{version} is newer than {_VERSION}")
    tool = file.part("version").text("irtt")
    found.about = {"tool": f"irtt {tool}"} if tool else {}
    for name, part, field in (("to", "config", "remote_address"), ("time", "stats", "start_time")):
        if file.part(part).has(field) and not isinstance(file.part(part).part(field).value, dict):
            found.about[name] = file.part(part).text(field)
    series, first = Series("irtt", "ping"), None
    for trip in file.part("round_trips").parts():
        sent = trip.part("timestamps").part("client").part("send")
        time = sent.number("monotonic")
        time = sent.number("wall") if time is None else time
        if time is None:
            found.note(f"{trip.place}: no time of sending, left out")
            continue
        first = time if first is None else first
        number = trip.count("seqno")
        if number is None:
            raise MeasuredError(trip.place, "no sequence number")
        lost = trip.text("lost") not in ("", "false", "False")
        delay = trip.part("delay").number("rtt")
        if delay is None and not lost:
            found.note(f"{trip.place}: no RTT and not lost, left out")
            continue
        series.add_probe((time - first) / 1e9, "udp", number, None if lost else (delay or 0) / 1e6)
    flow = series.flow({})
    if flow is not None:
        found.flows, found.probes = [flow], series.probes
        said = file.part("stats").part("rtt").number("mean")
        mean = float(flow.get("rtt_mean_ns", 0))
        if said is not None and mean and abs(said - mean) > 1e-3 * mean:
            found.note(
                f"stats.rtt.mean is {said * 1e-6:.6g} ms; its round trips give {mean * 1e-6:.6g} ms"
            )
    return found


FORMAT = Format("irtt", "irtt's JSON", 1, looks, read)
