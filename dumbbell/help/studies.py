"""Errors of studies and comparisons."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Call, Group, Page

GROUP = Group(
    "Studies and comparisons",
    (
        Page(
            Code.STUDY,
            "a study",
            "`study.yaml` is not valid: a quantity, a reference or a part is missing.",
            "Look at the line and the field of the message.",
            Call(
                "dumbbell study run bad --store s",
                "dumbbell study run l4s --store s",
                {"bad/study.yaml": "- a list\n"},
            ),
            "studies.md#studyyaml",
        ),
        Page(
            Code.NO_STUDY,
            "no such study",
            "No study of Dumbbell and no folder has this name.",
            "`dumbbell study list` lists them.",
            Call("dumbbell study run l4t --store s", "dumbbell study run l4s --store s"),
            "studies.md",
        ),
        Page(
            Code.CLAIMS,
            "claims were changed after the runs",
            "A store refuses a study whose claims were changed after its first run.",
            "Run it into a new store; the verdicts say which claims were changed.",
            Call(
                "dumbbell study run mine --store store",
                "dumbbell study run mine --store new",
                staged=True,
            ),
            "studies.md#claims",
        ),
        Page(
            Code.BASELINE,
            "a baseline",
            "The file of the baseline is missing, is not a baseline, or belongs to another "
            "experiment.",
            "Write a new one: `--baseline FILE --update`.",
            Call(
                "dumbbell check example.yaml --baseline none.json",
                "dumbbell check example.yaml --baseline none.json --update",
            ),
            "regression-tests.md",
        ),
        Page(
            Code.CONTRAST,
            "levels to contrast",
            "Two levels of one factor are compared; the factor or one of the levels does not "
            "exist.",
            "Use names that the message lists.",
            Call(
                "dumbbell contrast store --factor cc",
                "dumbbell contrast store --factor cc --levels cubic,bbr",
            ),
            "regression-tests.md#levels-of-a-factor",
        ),
        Page(
            Code.GATE,
            "a gate",
            "A side of a gate or of a scorecard, a suite, an item or an option is none.",
            "Name a congestion control, the file of a plug-in, a stack with a control, a profile, "
            "an engine, or a queue discipline; and a suite or item that the message lists.",
            Call("dumbbell gate cubic renno", "dumbbell gate cubic reno"),
            "gate.md",
        ),
        Page(
            Code.PACKETDRILL,
            "scripts of packetdrill",
            "There are no scripts where one was named, or a script or a definition cannot be read.",
            "Name scripts that end with .pkt, or a folder of them; definitions as NAME=VALUE.",
            Call("dumbbell packetdrill gtests --define X", "dumbbell packetdrill gtests -D X=1"),
            "packetdrill.md",
        ),
    ),
)
