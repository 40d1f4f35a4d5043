"""Time of CUBIC as a plug-in against the built-in: `python -m benchmarks.plugins`.

WebAssembly needs clang and lld. The module of Linux is its own tcp_cubic.c, from the tree that
`dumbbell kernel build --keep` left. Runs alternate, and the fastest of each counts. The built-in
runs in this process, plug-ins in theirs; only the simulation is timed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import dumbbell
from dumbbell.engines.linux.kernel import kernels_folder
from tests.plugins.built import wasm_of_c

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "plugins"
TEXT = """\
dumbbell: 1
name: plug-ins
template: {{dumbbell: {path}}}
plugins: {{{plugins}}}
flows: [{{from: s1, to: d1, tcp: $cc}}]
duration: {duration}
sampling: none
factors: {{cc: [{control}]}}
"""
#: Benchmark A (docs/performance.md), and the same with loss.
PATHS = {
    "A": "{rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP}",
    "loss": "{rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP, forward: {loss: 0.1 %}}",
}


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


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", default="300 s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        forms = built(folder)
        plugins = ", ".join(f"{form}: {file}" for form, file in forms.items())
        controls = ["cubic", *forms]
        for scenario, path in PATHS.items():
            fastest = dict.fromkeys(controls, float("inf"))
            for _ in range(options.rounds):
                for control in controls:
                    text = TEXT.format(
                        path=path, plugins=plugins, duration=options.duration, control=control
                    )
                    file = folder / "plugins.yaml"
                    file.write_text(text, encoding="utf-8")
                    wall_s = dumbbell.run(file).runs["wall_s"][0]
                    fastest[control] = min(fastest[control], wall_s)
            for control, wall_s in fastest.items():
                ratio = wall_s / fastest["cubic"]
                print(f"{scenario:5} {control:7} {wall_s:7.3f} s  {ratio:5.2f} × the built-in")


if __name__ == "__main__":
    main()
