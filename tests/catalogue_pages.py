"""Impairments, kinds of traffic and TCP options on `docs/catalogue.md`."""

from __future__ import annotations

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

Fields of a flow, as `udp: {rate: 1 Mbit/s}`, on all engines.
"""


_OPTIONS = """
## TCP options

Fields of a host, or of one end of a flow. The simulator has all of them, the engines `linux` and
`netns` those that Linux has (–: none). A host's profile sets the defaults
([profiles.md](profiles.md)).

| option | | unit and range | Linux, first release | source |
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
    text = f"\n### `{one.name}`\n\n{one.title}: {one.source}; in Linux `{one.linux}`. {one.about}\n"
    text += f"Its model: {link(one.name)}.\n"
    if not one.parameters:
        return f"{text}Its fields: [{one.name}](experiment-file/flows.md#{one.name}).\n"
    text += f"`{one.name}: VALUE` means `{{{one.short}: VALUE}}`.\n\n"
    return text + kind_parameters(one)


def kind_parameters(one: Traffic) -> str:
    """Table of the parameters of a kind of traffic."""
    head = "| parameter | | unit and range | default |\n| --- | --- | --- | --- |\n"
    return head + "".join(map(_parameter, one.written))


def _parameter(one: Parameter) -> str:
    default = "required" if one.default is None else _shown(one)
    return f"| `{one.name}` | {one.about} | {_range(one)} | {default} |\n"


def _shown(one: Parameter) -> str:
    if one.unit == "time":
        return f"`{int(one.default or 0) / 1e6:g} ms`"
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


def option_row(one: TcpOption) -> str:
    """Row of a TCP option."""
    parameter = one.parameter
    setting = f" `{one.setting}`" if one.setting else ""
    linux = "–" if one.place == "absent" else f"{one.place}{setting}"
    linux += f", {one.since}" if one.since and one.place != "absent" else ""
    cells = (parameter.about, _range(parameter), linux, one.source)
    return f"| `{parameter.name}` | {' | '.join(cells)} |\n"


def further_sections() -> str:
    """All sections but those of congestion controls and queue disciplines."""
    links = (impairment_row(one, linked=True) for one in impairments().values())
    kinds, options = map(_kind, traffic_kinds().values()), map(option_row, tcp_options().values())
    return "".join([_IMPAIRMENTS, *links, _TRAFFIC, *kinds, _OPTIONS, *options])
