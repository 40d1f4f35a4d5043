"""Time of CUBIC as a plug-in against the built-in: `python -m benchmarks.plugins`.

Runs alternate, and the fastest of each counts. The built-in runs in this process, plug-ins in
theirs; only the simulation is timed.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import dumbbell

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "plugins"
TEXT = """\
dumbbell: 1
name: plug-ins
template: {{dumbbell: {path}}}
plugins: {{c: {c}, rust: {rust}, python: {python}}}
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
CONTROLS = ("cubic", "c", "rust", "python")


def built(folder: Path) -> tuple[Path, Path]:
    """Builds CUBIC in C and in Rust."""
    c = folder / "libcubic.so"
    include = f"-I{ROOT / 'crates' / 'plugin' / 'include'}"
    source = EXAMPLES / "cubic.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, "-o", c, source], check=True)
    cargo = ["cargo", "build", "--quiet", "--release", "--package", "dumbbell-plugin-cubic"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    return c, ROOT / "target" / "release" / "libdumbbell_plugin_cubic.so"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", default="300 s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        c, rust = built(folder)
        for scenario, path in PATHS.items():
            fastest = dict.fromkeys(CONTROLS, float("inf"))
            for _ in range(options.rounds):
                for control in CONTROLS:
                    text = TEXT.format(
                        path=path, c=c, rust=rust, python=EXAMPLES / "cubic.py",
                        duration=options.duration, control=control,
                    )  # fmt: skip
                    file = folder / "plugins.yaml"
                    file.write_text(text, encoding="utf-8")
                    wall_s = dumbbell.run(file).runs["wall_s"][0]
                    fastest[control] = min(fastest[control], wall_s)
            for control, wall_s in fastest.items():
                ratio = wall_s / fastest["cubic"]
                print(f"{scenario:5} {control:7} {wall_s:7.3f} s  {ratio:5.2f} × the built-in")


if __name__ == "__main__":
    main()
