"""Impairments, kinds of traffic and TCP options on `docs/catalogue.md`."""

from __future__ import annotations

from collections.abc import Iterable

from dumbbell.catalogue import (
    Impairment,
    Parameter,
    TcpOption,
    Traffic,
    impairments,
    tcp_options,
    traffic_kinds,
)
from tests.model_pages import link

_IMPAIRMENTS = """
## Impairments of links

Fields of a link, in the order in which a packet meets them; queue and shaper stand between
`ack_aggregation` and `slots`. *Linux*: how the engines `linux` and `netns` do it, or refuse it.

| field | | parameters | Linux | source |
| --- | --- | --- | --- | --- |
"""
_TRAFFIC = """
## Kinds of traffic

Fields of a flow, as `udp: {rate: 1 Mbit/s}`, on all engines; their own fields:
[flows](experiment-file/flows.md).

| field | | Linux | source |
| --- | --- | --- | --- |
"""
_OPTIONS = """
## TCP options

Options of a host, or of one end of a flow: [TCP options](experiment-file/tcp-options.md).
"""
_OPTIONS_HEAD = """\
| option | meaning | unit and range | Linux, first release | source |
| --- | --- | --- | --- | --- |
"""


def impairment_row(one: Impairment, *, linked: bool = False) -> str:
    """Row of an impairment. `linked`: with a link to its model, from a page of `docs`."""
    parameters = "; ".join(
        f"`{each.name}`: {each.about}, {_range(each)}"
        + ("" if each.default is None else f", `{each.default}`")
        for each in one.parameters
    )
    linux = one.linux or "refused"
    about = f"{one.title}. {one.about}"
    name = link(one.name) if linked else f"`{one.name}`"
    return f"| {name} | {about} | {parameters} | {linux} | {one.source} |\n"


def _kind(one: Traffic) -> str:
    return f"| {link(one.name)} | {one.title}. {one.about} | `{one.linux}` | {one.source} |\n"


def kind_parameters(one: Traffic) -> str:
    """Table of the parameters of a kind of traffic."""
    head = "| parameter | | unit and range | default |\n| --- | --- | --- | --- |\n"
    return head + "".join(map(_parameter, one.written))


def _parameter(one: Parameter) -> str:
    default = "required" if one.default is None else _shown(one)
    return f"| `{one.name}` | {one.about} | {_range(one)} | {default} |\n"


def _shown(one: Parameter) -> str:
    if one.unit == "time":
        ms = int(one.default or 0) / 1e6
        return f"`{ms:g} ms`" if ms < 1000 else f"`{ms / 1000:g} s`"
    return f"`{one.default} bytes`" if one.unit == "bytes" else f"`{one.default}`".lower()


def _range(one: Parameter) -> str:
    unit = {"bytes": " bytes", "time": " ns"}.get(one.unit, "")
    if one.unit == "choice":
        return ", ".join(f"`{name}`" for name in one.choices)
    if one.unit in ("number", "signed", "bytes") and one.most < 2**32 - 1:
        least = -one.most if one.unit == "signed" else one.least
        return f"{least} to {one.most}{unit}"
    words = {
        "flag": "true or false",
        "sizes": "three sizes, ascending",
        "buffer": "`pages`, `copied`, a size",
        "number": "a whole number",
        "bytes": "a size",
    }
    return words.get(one.unit, f"a {one.unit}") + (" above 0" if one.least else "")


def option_rows(names: Iterable[str]) -> str:
    """Table of TCP options."""
    return _OPTIONS_HEAD + "".join(_option(tcp_options()[name]) for name in names)


def _option(one: TcpOption) -> str:
    parameter = one.parameter
    same = one.setting.removeprefix("net.ipv4.") == parameter.name
    setting = f" `{one.setting}`" if one.setting and not same else ""
    linux = "–" if one.place == "absent" else f"{one.place}{setting}"
    linux += f", {one.since}" if one.since and one.place != "absent" else ""
    cells = (parameter.about, _range(parameter), linux, one.source)
    return f"| `{parameter.name}` | {' | '.join(cells)} |\n"


def further_sections() -> str:
    """All sections but those of congestion controls and queue disciplines."""
    links = (impairment_row(one, linked=True) for one in impairments().values())
    return "".join(
        [_IMPAIRMENTS, *links, _TRAFFIC, *map(_kind, traffic_kinds().values()), _OPTIONS]
    )
