"""Errors of flows and hosts."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Group, Page, Sections

_FLOWS = "experiment-file/flows.md"

GROUP = Group(
    "Flows and hosts",
    (
        Page(
            Code.FLOW,
            "an impossible flow",
            "Its ends, times or sizes contradict each other or the run.",
            "Change the field that the message names.",
            Sections(
                "flows: [{from: s1, to: s1, tcp: cubic}]",
                "flows: [{from: s1, to: d1, tcp: cubic}]",
            ),
            _FLOWS,
        ),
        Page(
            Code.NO_TRAFFIC,
            "there is no traffic",
            "The experiment has neither flows nor pages, requests, programs or a workload.",
            "Write at least one.",
            Sections("flows: []", "flows: [{from: s1, to: d1, tcp: cubic}]"),
            _FLOWS,
        ),
        Page(
            Code.FLOW_TAKEN,
            "two flows with one name",
            "Results identify flows by their names.",
            "Give each another name; with `count`, write `{i}` in it.",
            Sections(
                "flows:\n  - {name: f, from: s1, to: d1, tcp: cubic}\n"
                "  - {name: f, from: s2, to: d2, tcp: cubic}",
                "flows:\n  - {name: f, from: s1, to: d1, tcp: cubic}\n"
                "  - {name: g, from: s2, to: d2, tcp: cubic}",
            ),
            _FLOWS,
        ),
        Page(
            Code.SUBFLOWS,
            "subflows of Multipath TCP",
            "A subflow names no link of its host, two subflows are the same, or there are "
            "more than paths.",
            "Name links or neighbours of the ends, or leave `subflows` out.",
            Sections(
                "flows: [{from: s1, to: d1, mptcp: {congestion_control: cubic, subflows: 3}}]",
                "flows: [{from: s1, to: d1, mptcp: {congestion_control: cubic, subflows: 1}}]",
            ),
            "experiment-file/flows.md#mptcp",
        ),
        Page(
            Code.PAGE,
            "pages",
            "An object of a page is there twice, or needs one that does not exist.",
            "Change the object that the message names.",
            Sections(
                "pages:\n  - {name: page, client: d1, server: s1, protocol: http/2, connections: "
                "6,\n"
                "     objects: [{name: index, size: 20 KiB}]}",
                "pages:\n  - {name: page, client: d1, server: s1, protocol: http/2,\n"
                "     objects: [{name: index, size: 20 KiB}]}",
            ),
            "experiment-file/pages.md",
        ),
        Page(
            Code.PROGRAM,
            "a program's command line",
            "The command line is empty, has an open quote, or names no program that is here.",
            "Write it as in a shell, or as a list of texts.",
            Sections(
                'programs: [{name: p, on: s1, run: "echo \'a"}]',
                "programs: [{name: p, on: s1, run: \"echo 'a'\"}]",
            ),
            "experiment-file/programs.md",
        ),
        Page(
            Code.HOST,
            "an option of a host",
            "A sysctl or the MTU of a host has a value that Linux does not accept.",
            "Use a value within the range that the message gives.",
            Sections("hosts: {defaults: {mtu: 20 bytes}}", "hosts: {defaults: {mtu: 1500 bytes}}"),
            "experiment-file/tcp-options.md",
        ),
        Page(
            Code.PLUGIN,
            "a plug-in",
            "The file of a plug-in is none, or the plug-in failed during a run. The message tells "
            "what it did; in a run also the flow and the virtual time. The other runs go on.",
            "Give the path of a plug-in from the folder of the experiment file, or leave it out.",
            Sections("plugins: {mine: ./nothing.so}", "plugins: {}"),
            "plugins.md",
        ),
    ),
)
