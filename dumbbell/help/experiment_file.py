"""Errors of an experiment file as a whole."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Call, Group, Page, Sections

_FILE = "experiment-file/index.md"

GROUP = Group(
    "Experiment file",
    (
        Page(
            Code.EXPERIMENT,
            "a value that does not fit the experiment",
            "The value is well formed, but this experiment cannot have it.",
            "Use a value that the message allows.",
            Sections("duration: 200000 min", "duration: 200 s"),
            _FILE,
        ),
        Page(
            Code.UNREADABLE,
            "a file cannot be read",
            "The file does not exist, may not be read, is too large, or is not UTF-8 text.",
            "Check the name and the folder; save the file as UTF-8.",
            Call("dumbbell validate exmaple.yaml", "dumbbell validate example.yaml"),
            _FILE,
        ),
        Page(
            Code.YAML,
            "the file is not YAML",
            "The text does not follow YAML: a tab for indentation, an open bracket, a name given "
            "twice.",
            "Look at the line named and at the one before. Indent with spaces, close every "
            "bracket, "
            'write `"${name}"` in quotes between brackets.',
            Sections(
                "flows: [{from: s1, to: d1, tcp: cubic}", "flows: [{from: s1, to: d1, tcp: cubic}]"
            ),
            _FILE,
        ),
        Page(
            Code.NOT_EXPERIMENT,
            "no experiment",
            "The file is empty, or another kind of file: an experiment begins with its format.",
            "Begin the file with `dumbbell: 1`. `dumbbell init` writes a first experiment.",
            Sections("dumbbell: 2", "dumbbell: 1"),
            _FILE,
        ),
        Page(
            Code.UNKNOWN_FIELD,
            "unknown field",
            "No field has this name at this place: it is misspelt, or it belongs elsewhere.",
            "Use the name that the message suggests, or one that it lists.",
            Sections("durations: 2 s", "duration: 2 s"),
            _FILE,
        ),
        Page(
            Code.MISSING_FIELD,
            "a field is missing",
            "A field that has no default is missing.",
            "Add the field that the message names.",
            Sections(
                "flows:\n  - {from: s1, tcp: cubic}", "flows:\n  - {from: s1, to: d1, tcp: cubic}"
            ),
            _FILE,
        ),
        Page(
            Code.FIELD_KIND,
            "another kind of value is needed",
            "The field takes a list, a mapping, a number, text, or true and false, but has "
            "another of these.",
            "Write the kind that the message names: `[a, b]` is a list, `{a: b}` a mapping.",
            Sections(
                "flows: {from: s1, to: d1, tcp: cubic}", "flows: [{from: s1, to: d1, tcp: cubic}]"
            ),
            _FILE,
        ),
        Page(
            Code.ONE_OF,
            "fields that exclude each other",
            "Two fields say the same thing in different ways, or none of several "
            "alternatives is there.",
            "Keep one of the fields that the message lists.",
            Sections(
                "flows:\n  - {from: s1, to: d1, tcp: cubic, udp: {rate: 1 Mbit/s}}",
                "flows:\n  - {from: s1, to: d1, tcp: cubic}\n  - {from: s2, to: d2, udp: {rate: 1 "
                "Mbit/s}}",
            ),
            _FILE,
        ),
        Page(
            Code.FACTORS,
            "factors",
            "A factor has no levels, a level twice, or a name that is taken.",
            "Give each factor a list of different levels: `factors: {cc: [cubic, bbr]}`.",
            Sections(
                "flows:\n  - {from: s1, to: d1, tcp: $cc}\nfactors: {cc: []}",
                "flows:\n  - {from: s1, to: d1, tcp: $cc}\nfactors: {cc: [cubic, bbr]}",
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.REFERENCE,
            "a reference to no factor",
            "`$name` or `${name}` stands for the level of a factor, but no factor has this "
            "name, or the section must be the same in all cells.",
            "Name a factor of the section `factors`.",
            Sections(
                "flows:\n  - {from: s1, to: d1, tcp: $c}\nfactors: {cc: [cubic, bbr]}",
                "flows:\n  - {from: s1, to: d1, tcp: $cc}\nfactors: {cc: [cubic, bbr]}",
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.UNUSED_FACTOR,
            "a factor changes nothing",
            "No field refers to the factor: all its cells would be equal.",
            "Write `$name` where the level belongs, or give the factor a `path`.",
            Sections(
                "factors: {cc: [cubic, bbr]}",
                'factors: {cc: {levels: [cubic, bbr], path: "flows[0].tcp"}}',
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.CELLS,
            "too many combinations or runs",
            "A grid multiplies the levels of its factors; the product is above the limit.",
            "Give fewer levels, tie factors with `zip`, or split the experiment.",
            Sections(
                "repeats: 100000\nflows: [{from: s1, to: d1, tcp: $cc, start: $start}]\n"
                "factors: {cc: [cubic, bbr, reno], start: [0 s, 1 ms, 2 ms, 3 ms]}",
                "repeats: 10\nflows: [{from: s1, to: d1, tcp: $cc, start: $start}]\n"
                "factors: {cc: [cubic, bbr, reno], start: [0 s, 1 ms, 2 ms, 3 ms]}",
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.REPEATS,
            "repeats",
            "The rule that says how many repeats are enough is incomplete or contradicts itself.",
            "Write a number, or `until` with a metric and one width.",
            Sections(
                "repeats: {min: 5}",
                "repeats: {until: {metric: goodput_mbps, flow: flow1, relative_half_width: 10 %}}",
            ),
            "experiment-file/repeats.md",
        ),
        Page(
            Code.SAMPLING,
            "sampling",
            "The section `sampling` asks for something that this run cannot keep, or an "
            "option needs something that `sampling` does not keep.",
            "Follow the message: captures need `taps`, traces need `hops`.",
            Sections(
                "sampling: {capture: true}",
                "taps: [{at: r1, link: bottleneck}]\nsampling: {capture: true}",
            ),
            "experiment-file/sampling.md",
        ),
        Page(
            Code.EXPECT,
            "an expectation that cannot be checked",
            "The expectation has no bound, no value can satisfy it, or nothing is measured there.",
            "Give `above` or `below`, within what the metric can be; `docs/metrics.md` has the "
            "bounds.",
            Sections(
                "expect: [{metric: utilisation, above: 7}]",
                "expect: [{metric: utilisation, above: 0.7}]",
            ),
            "regression-tests.md",
        ),
        Page(
            Code.SEARCH,
            "search",
            "The section `search` lacks a goal or a space, or its space is not valid.",
            "Give a space and `minimise`, `maximise` or `attack`.",
            Call("dumbbell search example.yaml", "add a section search to the file"),
            "search.md",
        ),
        Page(
            Code.NOTHING_EXPECTED,
            "nothing is expected",
            "`dumbbell check` compares with the section `expect` or with a baseline; neither "
            "is there.",
            "Write `expect` into the file, or name a `--baseline`.",
            Call(
                "dumbbell check example.yaml",
                "dumbbell check example.yaml --baseline b.json --update",
            ),
            "regression-tests.md",
        ),
    ),
)
