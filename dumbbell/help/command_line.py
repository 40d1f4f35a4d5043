"""Errors of the command line."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Call, Group, Page

GROUP = Group(
    "Command line",
    (
        Page(
            Code.OPTION,
            "value of an option",
            "An option got a value that it does not take, or an option is missing that the verb "
            "needs.",
            "Use a value that the message lists. `dumbbell VERB --help` lists the options of "
            "a verb.",
            Call("dumbbell figure sawtooth store", "dumbbell figure sawtooth store -o figure.svg"),
            "command-line.md",
        ),
        Page(
            Code.SET_FORM,
            "form of --set",
            "`--set` takes a name, an equals sign and a value.",
            "Write `--set FACTOR=LEVEL`, or `--set FIELD=VALUE` with the path of a field.",
            Call(
                "dumbbell run example.yaml --set duration",
                "dumbbell run example.yaml --set duration=5s",
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.SET_FIELD,
            "--set names neither a factor nor a field",
            "The name on the left of `--set` is neither a factor of the file nor the path of "
            "a field in it.",
            "Write the path of the field as messages show it: sections, points, and "
            "positions in lists from 0.",
            Call(
                "dumbbell run example.yaml --set flow[0].tcp=reno",
                "dumbbell run example.yaml --set flows[0].tcp=reno",
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.SET_LEVEL,
            "no such level of a tied factor",
            "Factors in `zip` and `points` change together. `--set` chooses one of their "
            "rows, and cannot add another.",
            "Choose a level that the file lists, or add the combination to the file.",
            Call(
                "dumbbell run tied.yaml --set rate=5Mbit/s",
                'dumbbell run tied.yaml --set "rate=10 Mbit/s"',
                {
                    "tied.yaml": "dumbbell: 1\nname: tied\n"
                    "template: {dumbbell: {pairs: 1, rate: $rate, rtt: $rtt, buffer: 1 BDP}}\n"
                    "flows: [{from: s1, to: d1, tcp: cubic}]\n"
                    "factors: {zip: {rate: [10 Mbit/s, 20 Mbit/s], rtt: [20 ms, 40 ms]}}\n"
                    "duration: 2 s\n"
                },
            ),
            "experiment-file/factors.md",
        ),
        Page(
            Code.LIMIT,
            "no such limit, or no number",
            "`--allow` raises a limit of a run. It takes one of a few names and a number.",
            "Write `events=5e9`, `rows=1e8`, `memory=16GB`, `captures=8GB` or `all`.",
            Call(
                "dumbbell run example.yaml --allow event=5e9",
                "dumbbell run example.yaml --allow events=5e9",
            ),
            "command-line.md",
        ),
        Page(
            Code.SHARD,
            "no such shard",
            "`--shard K/N` executes the K-th of N parts of the runs. K counts from 1 to N.",
            "Give each machine its own K and all of them the same N.",
            Call("dumbbell run example.yaml --shard 0/4", "dumbbell run example.yaml --shard 1/4"),
            "store.md",
        ),
        Page(
            Code.MOMENT,
            "a time outside the run",
            "A time that an option names is outside the run, trace or capture, or an end is not "
            "later than its beginning.",
            "Choose a time within it. The message or the experiment file has its duration.",
            Call("dumbbell show store --at 1h", "dumbbell show store --at 1s"),
            "command-line.md",
        ),
        Page(
            Code.EXCLUSIVE,
            "options that exclude each other",
            "Two options contradict each other, or one needs another one.",
            "Leave one out, or add the one that the message names.",
            Call(
                'dumbbell query store "select 1" --csv --json',
                'dumbbell query store "select 1" --csv',
            ),
            "command-line.md",
        ),
        Page(
            Code.OVERWRITE,
            "a file would be lost",
            "The output would replace a file that is read, or one that exists already.",
            "Choose another name for the output, or use `--force` if the verb has it.",
            Call(
                "dumbbell init example.yaml --template dumbbell",
                "dumbbell init other.yaml --template dumbbell",
            ),
            "command-line.md",
        ),
        Page(
            Code.NO_ANSWER,
            "a question without an answer",
            "The program asks before a long sweep and in `dumbbell init`. Standard input is "
            "no terminal, or the answer was no or was not understood.",
            "Answer at a terminal, or use the option: `--yes` for sweeps, `--template` for `init`.",
            Call("dumbbell init new.yaml", "dumbbell init new.yaml --template dumbbell"),
            "command-line.md",
        ),
        Page(
            Code.UNWRITABLE,
            "output cannot be written",
            "A file, a folder or standard output cannot be written: no rights, no such "
            "folder, a full disk.",
            "Choose a place where you may write; `df` shows whether the disk is full.",
            Call(
                "dumbbell run example.yaml --json example.yaml/tables.json",
                "dumbbell run example.yaml --json tables.json",
            ),
            "command-line.md",
        ),
        Page(
            Code.NOT_INSTALLED,
            "a package or program is missing",
            "The command needs a package or a program that is not installed.",
            "Install it; the message has the command.",
            Call(
                'dumbbell query store "select 1"',
                "pip install 'dumbbell-lab[query]'",
                staged=True,
            ),
            "command-line.md",
        ),
        Page(
            Code.QUERY,
            "a query is refused",
            "The SQL is wrong, names an unknown table or column, or would change something.",
            "Write one `select`. `dumbbell query --help` and `dumbbell help --page tables` "
            "name tables and columns.",
            Call(
                'dumbbell query store "drop table flows"',
                'dumbbell query store "select * from flows"',
            ),
            "store.md",
        ),
        Page(
            Code.STOPPED,
            "stopped",
            "Ctrl-C or a signal stopped the program. Its exit code is 130.",
            "Give the same command again: finished runs are kept, and it goes on from there.",
            Call("dumbbell run example.yaml", "dumbbell run example.yaml", staged=True),
            "reliability.md",
        ),
        Page(
            Code.SELECTION,
            "nothing has this name",
            "An option names a cell, a flow, a connection or a table that does not exist, or "
            "fits several.",
            "Use a name that the message lists.",
            Call(
                "dumbbell explain store --flow flow9 --at 1s",
                "dumbbell explain store --flow flow1 --at 1s",
            ),
            "command-line.md",
        ),
        Page(
            Code.USAGE,
            "no such verb or option",
            "A verb or an option is misspelt, does not belong to this verb, or lacks its "
            "value; or an argument is missing.",
            "`dumbbell --help` lists the verbs, `dumbbell VERB --help` the options of one.",
            Call("dumbbell run example.yaml --repeat 3", "dumbbell run example.yaml --repeats 3"),
            "command-line.md",
        ),
    ),
)
