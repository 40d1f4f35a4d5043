"""Errors of engines, kernels and runs."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import BASE, Call, Group, Page

_LINUX = "linux-engine.md"
_CLUSTER = "clusters.md"

GROUP = Group(
    "Engines, kernels and runs",
    (
        Page(
            Code.ENGINE,
            "an error of the operating system",
            "A folder of the engine cannot be written, or one of its processes cannot start.",
            "The message has the file and the reason that the system gives.",
            Call(
                "dumbbell kernel build",
                "XDG_CACHE_HOME=~/kernels dumbbell kernel build",
                staged=True,
            ),
            _LINUX,
        ),
        Page(
            Code.UNKNOWN_ENGINE,
            "no such engine",
            "`--engine` takes `sim`, `linux`, `linux:NAME` and `netns`.",
            "Use one of them.",
            Call(
                "dumbbell run example.yaml --engine ns3", "dumbbell run example.yaml --engine sim"
            ),
            _LINUX,
        ),
        Page(
            Code.NO_KERNEL,
            "no such kernel",
            "The engine linux boots a kernel that was built before, and none has this name.",
            "`dumbbell kernel list` lists kernels, `dumbbell kernel build` builds one.",
            Call(
                "dumbbell run example.yaml --engine linux:none",
                "dumbbell kernel build",
                staged=True,
            ),
            "linux-engine.md#the-kernel",
        ),
        Page(
            Code.KERNEL_SOURCE,
            "the source of a kernel",
            "No source is where the option says, or the package cannot be fetched.",
            "Give a tree of Linux 5.19 or later with `--source`, or the name of a package.",
            Call("dumbbell kernel build --source none", "dumbbell kernel build --source ~/linux"),
            "linux-engine.md#the-kernel",
        ),
        Page(
            Code.KERNEL_BUILD,
            "a kernel cannot be built",
            "A patch does not fit, an option has no effect, or make failed.",
            "Read the log that the message names.",
            Call("dumbbell kernel build --name -x", "dumbbell kernel build --name x"),
            "linux-engine.md#the-kernel",
        ),
        Page(
            Code.GUEST,
            "a guest failed",
            "The kernel of the engine linux did not boot, died, hung, or its program reported an "
            "error.",
            "Read the last lines of its console in the message; `--keep` keeps its folder.",
            Call("dumbbell run example.yaml --engine linux", "dumbbell doctor", staged=True),
            "linux-engine.md#errors",
        ),
        Page(
            Code.RIGHTS,
            "rights are missing",
            "The engine netns makes network namespaces, and needs the rights of root.",
            "Use the engine linux, which needs none.",
            Call(
                "dumbbell run example.yaml --engine netns",
                "dumbbell run example.yaml --engine linux",
                staged=True,
            ),
            "linux-engine.md#on-the-hosts-own-kernel",
        ),
        Page(
            Code.HOST_KERNEL,
            "the host's kernel lacks something",
            "The engine netns uses the kernel of this machine, which was built without a "
            "feature that the run needs.",
            "Use the engine linux, which brings its own kernel.",
            Call(
                "dumbbell run example.yaml --engine netns",
                "dumbbell run example.yaml --engine linux",
                staged=True,
            ),
            "linux-engine.md#on-the-hosts-own-kernel",
        ),
        Page(
            Code.CLUSTER,
            "a cluster",
            "No scheduler answers at the address, workers died, or the address is not known.",
            "Check the address and the logs of the workers.",
            Call(
                "dumbbell run example.yaml --cluster dusk://h:1",
                "dumbbell run example.yaml --cluster dask://h:8786",
            ),
            _CLUSTER,
        ),
        Page(
            Code.VERSIONS,
            "workers of several versions",
            "A worker has another version of the engine, or of a program of the experiment: its "
            "results would not be comparable.",
            "Install one version everywhere.",
            Call(
                "dumbbell run example.yaml --cluster dask://h:8786",
                "pip install dumbbell-lab",
                staged=True,
            ),
            _CLUSTER,
        ),
        Page(
            Code.RUN_FAILED,
            "runs failed",
            "One or more runs ended with an error. The others are kept.",
            "The message has the first error, with a code of its own. Run the command again "
            "to execute the missing runs.",
            Call("dumbbell run example.yaml", "dumbbell run example.yaml", staged=True),
            "reliability.md",
        ),
        Page(
            Code.TWO_ENGINES,
            "engines to compare",
            "`dumbbell compare` takes two different engines.",
            "Write `--engines sim,linux`.",
            Call(
                "dumbbell compare example.yaml --engines sim",
                "dumbbell compare example.yaml --engines sim,linux",
            ),
            "linux-engine.md#comparing-engines",
        ),
        Page(
            Code.ENGINE_LACKS,
            "the engine cannot do this",
            "The experiment is valid, but this engine or kernel has no such option, "
            "discipline or clock.",
            "Use another engine or kernel; the message says what is missing.",
            Call(
                "dumbbell run program.yaml",
                "dumbbell run program.yaml --engine linux",
                {
                    "program.yaml": "\n".join(BASE.values()).replace("tcp: bbr", "mptcp: cubic")
                    + "\nhosts: {defaults: {tcp_ecn: 3}}\n"
                },
            ),
            "linux-engine.md#what-is-refused",
        ),
        Page(
            Code.BUDGET,
            "a run above a limit",
            "Events, rows and memory of a run are estimated before it; one of them is above "
            "its limit. Often a rate or a duration is a thousand times what was meant.",
            "Make the run shorter or slower, or allow it with `--allow`.",
            Call(
                "dumbbell run large.yaml",
                "dumbbell run large.yaml --allow events=1e13",
                {
                    "large.yaml": "\n".join(BASE.values())
                    .replace("10 Mbit", "400 Gbit")
                    .replace("2 s", "10 h")
                },
            ),
            "experiment-file/limits.md",
        ),
    ),
)
