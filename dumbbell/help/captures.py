"""Errors of captures, traces, workloads, animations and explanations."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Call, Group, Page

GROUP = Group(
    "Captures, traces and pictures of packets",
    (
        Page(
            Code.CAPTURE,
            "a capture cannot be read",
            "The file is no pcap, pcapng or snoop, is cut off in its head, or is not there.",
            "Give a file that tcpdump or Wireshark wrote; it may be compressed.",
            Call(
                "dumbbell capture notes.pcap",
                "dumbbell capture trace.pcap",
                {"notes.pcap": "not a capture"},
            ),
            "captures.md",
        ),
        Page(
            Code.CAPTURE_FOLDER,
            "a folder of captures",
            "The folder has no capture, too many, or cannot be read.",
            "Name the folder with the captures, or the files.",
            Call(
                "dumbbell capture empty", "dumbbell capture captures/", {"empty/notes.txt": "none"}
            ),
            "captures.md",
        ),
        Page(
            Code.TRACE,
            "a trace cannot be read",
            "No line of the file is an event of ns-2 or ns-3, or its names are not those of a "
            "trace.",
            "Give a trace of `dumbbell run --traces`, ns-2 or ns-3.",
            Call(
                "dumbbell trace notes.tr", "dumbbell trace out.tr", {"notes.tr": "once upon a time"}
            ),
            "traces.md",
        ),
        Page(
            Code.HAR,
            "a HAR file cannot be used",
            "The file is no JSON, or has no entries with a web address.",
            "Save it again in the browser's network tab; its content may be left out.",
            Call(
                "dumbbell workload from-har page.har",
                "dumbbell workload from-har saved.har",
                {"page.har": "<html>"},
            ),
            "workloads.md#pages-from-har-files",
        ),
        Page(
            Code.WORKLOAD,
            "no workload can be made",
            "The capture has too few connections, or the workload would take too long.",
            "Choose a longer capture, a higher `--rate`, or fewer connections.",
            Call(
                "dumbbell workload from-capture small.pcap",
                "dumbbell workload from-capture large.pcap",
                staged=True,
            ),
            "workloads.md#connections-of-a-capture",
        ),
        Page(
            Code.ANIMATION,
            "an animation cannot be drawn",
            "It has too many packets or frames, a node has no position, or the browser failed.",
            "Choose a shorter stretch with `--from` and `--to`.",
            Call(
                "dumbbell animate example.yaml --positions p.json",
                "dumbbell animate example.yaml",
                {"p.json": "[1, 2]"},
            ),
            "animation.md",
        ),
        Page(
            Code.NOT_KEPT,
            "nothing of this kind is kept",
            "Events of packets, windows or queues of the run were not kept, and the run "
            "cannot be repeated.",
            "Add to `sampling` what the message names, and run again.",
            Call("dumbbell animate store", "add `sampling: {hops: {to: 10 s}}`", staged=True),
            "experiment-file/sampling.md",
        ),
        Page(
            Code.EXPLAIN,
            "nothing to explain",
            "The flow is no TCP, never began, or nothing happened to it near this moment.",
            "Use a time and a flow that the message lists.",
            Call(
                "dumbbell explain calls --flow call --at 1s",
                "dumbbell explain store --flow flow1 --at 1s",
                {
                    "calls.yaml": "dumbbell: 1\nname: calls\n"
                    "template: {dumbbell: {rate: 1 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}\n"
                    "flows: [{name: call, from: s1, to: d1, udp: {rate: 100 kbit/s}}]\n"
                    "duration: 2 s\n"
                },
                staged=True,
            ),
            "explain.md",
        ),
        Page(
            Code.TRANSLATE,
            "words that cannot be translated",
            "A word, a unit or a value is none of its language, or no word shapes packets.",
            "The message has the line, what was found and what is allowed; `--from` names the "
            "language.",
            Call(
                "dumbbell translate netem.sh",
                "dumbbell translate good.sh",
                {
                    "netem.sh": "tc qdisc add dev eth0 root netem dellay 100ms\n",
                    "good.sh": "tc qdisc add dev eth0 root netem delay 100ms\n",
                },
            ),
            "translate.md",
        ),
        Page(
            Code.IMPORT,
            "result file that cannot be imported",
            "The file is cut off, of no known format or of a newer version, or a number cannot be.",
            "The message has the file and the place in it. `--as` names the format.",
            Call(
                "dumbbell import bad.csv",
                "dumbbell import good.csv",
                {
                    "bad.csv": "seconds,goodput_mbps\n1,9.4\n",
                    "good.csv": "time_s,goodput_mbps\n1,9.4\n2,9.6\n",
                },
            ),
            "import.md",
        ),
    ),
)
