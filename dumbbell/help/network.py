"""Errors of networks and of queues."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Group, Page, Sections

_LINKS = "experiment-file/links.md"
_QUEUES = "experiment-file/queue-disciplines.md"
_ENDS = "hosts: {a: {}, b: {}}\nflows: [{from: a, to: b, tcp: cubic}]\n"
_LINE = "template: null\n" + _ENDS + "links: "
_ONE = "{between: [a, b], rate: 10 Mbit/s, delay: 5 ms, buffer: 100 packets}"
_TRACED = _ONE.replace("rate: 10 Mbit/s", "shaper: {trace: {file: none.trace}}")


def _template(fields: str) -> str:
    line = f"template: {{dumbbell: {{rate: 10 Mbit/s, rtt: 40 ms, {fields}}}}}"
    return f"{line}\nflows: [{{from: s1, to: d1, tcp: cubic}}]"


NETWORK = Group(
    "Network",
    (
        Page(
            Code.NETWORK,
            "an impossible network",
            "A node, link, route or tap contradicts the rest of the network, or what a link "
            "can do.",
            "Change the field that the message names.",
            Sections(
                "taps: [{at: r1, link: s2-r2}]",
                "taps: [{at: r1, link: s2-r1}]",
            ),
            _LINKS,
        ),
        Page(
            Code.NO_NODE,
            "no such node, host or link",
            "A flow, link, route or tap names something that the network does not have.",
            "Use a name that the message lists. Templates name their hosts s1, s2, … and d1, d2, …",
            Sections(
                "flows: [{from: s1, to: d3, tcp: cubic}]",
                "flows: [{from: s1, to: d2, tcp: cubic}]",
            ),
            "experiment-file/nodes.md",
        ),
        Page(
            Code.NO_PATH,
            "no path",
            "No chain of links leads from one end of a flow to the other, or routes make a loop.",
            "Add the missing link, or correct the route.",
            Sections("hosts: {lonely: {}}", "hosts: {s1: {}}"),
            "experiment-file/routes.md",
        ),
        Page(
            Code.NAME_TAKEN,
            "a name is taken",
            "Two nodes or two links have the same name.",
            "Give one of them another `name`.",
            Sections(
                f"{_LINE}[{_ONE}, {_ONE}]",
                f"{_LINE}[{_ONE}, {_ONE.replace('{between', '{name: second, between')}]",
            ),
            "experiment-file/nodes.md",
        ),
        Page(
            Code.RATES_FILE,
            "a file of rates or of a trace",
            "The file cannot be read, or a line of it is no rate or time.",
            "Check the name, which is relative to the folder of the experiment, and the line "
            "that the message names.",
            Sections(
                f"{_LINE}[{_TRACED}]",
                f"{_LINE}[{_ONE}]",
            ),
            "experiment-file/access-links.md#rates-of-a-measurement",
        ),
        Page(
            Code.BUFFER_MISSING,
            "a rate without a buffer",
            "Packets wait in front of a link with a rate; the size of the buffer has no default.",
            "Write `buffer`: `100 packets`, `64 KiB`, `1 BDP` or `50 ms`.",
            Sections(
                f"{_LINE}[{_ONE.replace(', buffer: 100 packets', '')}]",
                f"{_LINE}[{_ONE}]",
            ),
            _LINKS,
        ),
        Page(
            Code.BDP,
            "a BDP or a time that cannot be computed",
            "A limit in BDP or in time needs the rate of its link and the base RTT of a flow.",
            "Give the link a `rate`, name a flow of the file, or write the limit in packets or "
            "bytes.",
            Sections(_template("buffer: 1 BDP of flow9"), _template("buffer: 1 BDP of flow1")),
            "experiment-file/quantities.md",
        ),
        Page(
            Code.ACCESS,
            "an access link with rates of its own",
            "`access` sets the rates of both directions, and the link sets one as well.",
            "Write the rates into `access`: `{type: docsis, down: 100 Mbit/s, up: 20 Mbit/s}`.",
            Sections(
                f"{_LINE}[{{between: [a, b], access: docsis, rate: 10 Mbit/s, delay: 5 ms}}]",
                f"{_LINE}[{{between: [a, b], access: {{type: docsis, down: 10 Mbit/s}}, delay: 5 "
                f"ms}}]",
            ),
            "experiment-file/access-links.md",
        ),
        Page(
            Code.TEMPLATE,
            "a template",
            "There are several templates, or the parameters of one do not fit each other.",
            "Keep one template. A list has an entry per path or pair.",
            Sections(
                _template("pairs: 2, buffer: 1 BDP").replace(
                    "rtt: 40 ms", "rtt: [40 ms, 20 ms, 10 ms]"
                ),
                _template("pairs: 2, buffer: 1 BDP").replace("rtt: 40 ms", "rtt: [40 ms, 20 ms]"),
            ),
            "experiment-file/templates.md",
        ),
    ),
)

QUEUES = Group(
    "Queues",
    (
        Page(
            Code.QUEUE,
            "an impossible queue",
            "Parameters of a queue discipline contradict each other, or are outside the "
            "range that Linux accepts.",
            "Change the parameter that the message names.",
            Sections(
                _template("queue: {red: {limit: 400 KB, min: 40 KB, max: 10 KB}}"),
                _template("queue: {red: {limit: 400 KB, min: 10 KB, max: 40 KB}}"),
            ),
            _QUEUES,
        ),
        Page(
            Code.QUEUE_LIMIT,
            "the form of a limit",
            "A queue has one limit, or one in packets and one in bytes, BDP or time.",
            "Write one of `100 packets`, `64 KiB`, `1 BDP`, `50 ms`, or a list of two such.",
            Sections(
                _template("buffer: [10 packets, 20 packets]"),
                _template("buffer: [10 packets, 64 KiB]"),
            ),
            _QUEUES,
        ),
        Page(
            Code.QUEUE_PARAMETERS,
            "a queue discipline without its parameters",
            "Some parameters of this discipline have no default.",
            "Write them in braces behind its name.",
            Sections(
                _template("queue: drr"),
                _template("queue: {drr: {classes: [{dscp: EF}, {}]}}"),
            ),
            _QUEUES,
        ),
    ),
)
