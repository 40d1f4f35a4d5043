"""Time of CUBIC as a plug-in against the built-in: `benchmarks/run.py --plugin`.

WebAssembly needs clang and lld. The module of Linux is its own tcp_cubic.c, from the tree that
`dumbbell kernel build --keep` left. Runs alternate, and the fastest of each counts. The built-in
runs in this process, plug-ins in theirs; only the simulation is timed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import dumbbell
from benchmarks.cases import CASES as BENCHMARKS
from benchmarks.cases import Case
from dumbbell.engines.linux.kernel import kernels_folder
from dumbbell.sections import Experiment, Flow
from tests.plugins.built import wasm_of_c

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "plugins"
CASES = ("A", "B", "C")


def built(folder: Path) -> dict[str, Path]:
    """Builds CUBIC in each form that can be built here."""
    c = folder / "libcubic.so"
    include = f"-I{ROOT / 'crates' / 'plugin' / 'include'}"
    source = EXAMPLES / "cubic.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", c, source], check=True)
    cargo = ["cargo", "build", "--quiet", "--release", "--package", "dumbbell-plugin-cubic"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    rust = ROOT / "target" / "release" / "libdumbbell_plugin_cubic.so"
    found = {"c": c, "rust": rust, "python": EXAMPLES / "cubic.py"}
    if shutil.which("clang") and shutil.which("wasm-ld"):
        found["wasm"] = wasm_of_c(EXAMPLES / "cubic.c", folder / "cubic.wasm")
    for module in kernels_folder().glob("trees/*/net/ipv4/tcp_cubic.c"):
        found["module"] = module
    return found


def measured(names: Sequence[str], rounds: int, scale: float) -> None:
    """Prints a table.

    Args:
        names: Benchmarks of one kind of flow, as A.
        rounds: Runs of each form, of which the fastest counts.
        scale: Factor of the simulated times.
    """
    with tempfile.TemporaryDirectory() as name:
        forms = built(Path(name))
        print(f"{'':5} {'CUBIC as':9} {'time':>9}  built-in = 1")
        for case in (case for case in BENCHMARKS if case.name in names):
            controls = ["cubic", *forms]
            fastest = dict.fromkeys(controls, float("inf"))
            for _ in range(rounds):
                for control in controls:
                    experiment = with_control(case, forms, control, scale)
                    wall_s = dumbbell.run(experiment, workers=1).runs["wall_s"][0]
                    fastest[control] = min(fastest[control], wall_s)
            for control, wall_s in fastest.items():
                ratio = wall_s / fastest["cubic"]
                print(f"{case.name:5} {control:9} {wall_s:7.3f} s  {ratio:11.2f}", flush=True)


def with_control(case: Case, forms: dict[str, Path], control: str, scale: float) -> Experiment:
    """A benchmark whose flows have this congestion control."""
    experiment = Experiment.read(case.file)
    experiment.plugins = {form: str(file) for form, file in forms.items() if form == control}
    seconds = float(experiment.duration.removesuffix("s")) * scale
    experiment.duration = f"{seconds:g} s"
    for flow in experiment.flows or ():
        if isinstance(flow, Flow):
            flow.tcp = control
    return experiment


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    measured(CASES, options.rounds, 1)
