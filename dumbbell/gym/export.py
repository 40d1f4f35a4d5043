"""Policies as congestion controls of Linux: C in integers, for a kernel.

`python -m dumbbell.gym.export policy.onnx --c tcp_learnt.c`. A kernel has no floating point, so
weights and values are multiples of 2⁻¹⁶, and tanh comes from a table.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.gym.policy import load_policy

_TEMPLATE = Path(__file__).with_name("tcp_policy.c.in")
_ONE = 65536
#: Largest value of an input, and of a sum (so that 64 bits hold all products).
_MOST_INPUT, _MOST_SUM = 100.0, 2.0**30
#: Widest layer: values are on the kernel's stack.
_MOST_WIDTH = 32
#: Inputs in C; `delivered` and `lost` are those of the step.
_INPUTS = {
    "throughput": "ratio(delivered, ca->most, 100)",
    "rtt": "ratio(ca->rtt_us, ca->min_rtt_us, 100)",
    "rtt_ratio": "ratio(ca->rtt_us, ca->min_rtt_us, 100)",
    "srtt": "ratio(ca->srtt_us, ca->min_rtt_us, 100)",
    "min_rtt": "ratio(ca->min_rtt_us, ca->min_rtt_us, 100)",
    "loss_rate": "ratio(lost, (u64)lost + delivered, 1)",
    "in_flight": "ratio((u64)ca->in_flight * STEP_US, bdp, 100)",
    "cwnd": "ratio((u64)ca->cwnd * STEP_US, bdp, 100)",
}


def kernel_source(policy: _core.Policy, name: str = "learnt") -> str:
    """Source of a module `tcp_NAME.c` for `dumbbell kernel build --module`.

    Args:
        policy: A policy that multiplies the window after a time, from normalised observations.
        name: Name of the algorithm in Linux.

    Raises:
        DumbbellError: The policy needs what this form has not.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,14}", name):
        raise _refused(f"name {name}: at most 15 small letters, digits and _ are needed")
    kind, _, length_ns = policy.step
    checks: list[tuple[str, object, bool, str]] = [
        ("actions", ", ".join(policy.actions), policy.actions == ["cwnd_factor"], "cwnd_factor"),
        ("normalised", policy.normalised, policy.normalised, "True"),
        ("step", kind, kind == "time", "time"),
        ("step", f"{length_ns} ns", 10**6 <= length_ns <= 10**9, "1 ms to 1 s"),
    ]
    for seen in policy.observations:
        checks.append(("observations", seen, seen in _INPUTS, ", ".join(_INPUTS)))
    for what, found, good, allowed in checks:
        if not good:
            raise _refused(f"{what}: found {found}; allowed in a kernel: {allowed}")
    weights, layers, widest = _network(policy)
    lines = [f"\tinputs[{at}] = {_INPUTS[one]};" for at, one in enumerate(policy.observations)]
    low, high = (-_ONE, _ONE) if policy.scaled else (_ONE // 10, 10 * _ONE)
    # A scaled action x is the factor 10^x.
    tenfold = round(math.log2(10) * _ONE)
    factor = f"learnt_exp2((output * {tenfold}) >> 16)" if policy.scaled else "output"
    parts = {
        "STEP_US": str(length_ns // 1000),
        "INPUTS": str(len(lines)),
        "WIDEST": str(widest),
        "TANH": _numbers(math.tanh(at / 32) for at in range(257)),
        "EXP2": _numbers(2 ** (at / 256) for at in range(257)),
        "WEIGHTS": "\n".join(weights),
        "LAYERS": "\n".join(layers),
        "OBSERVATIONS": "\n".join(lines),
        "LOW": str(low),
        "HIGH": str(high),
        "FACTOR": factor,
        "NAME": name,
    }
    text = _TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_0-9]+)@", lambda found: parts[found[1]], text)


def _network(policy: _core.Policy) -> tuple[list[str], list[str], int]:
    """Tables of weights, statements of the layers, and width of the widest."""
    weights: list[str] = []
    layers: list[str] = []
    most, width = _MOST_INPUT, len(policy.observations)
    widest = width
    for number, (kind, rows, bias) in enumerate(policy.layers, start=1):
        if kind == "dense":
            most = max(
                abs(add) + sum(abs(one) for one in row) * most
                for row, add in zip(rows, bias, strict=True)
            )
            if most > _MOST_SUM or max(abs(one) for row in rows for one in row) >= _ONE // 2:
                raise _refused("weights: too large for integers of 64 bits")
            table = _numbers(one for row in rows for one in row)
            weights.append(f"static const s32 weights{number}[] = {{\n{table}\n}};")
            weights.append(f"static const s32 bias{number}[] = {{\n{_numbers(bias)}\n}};")
            layers.append(
                f"\tfor (i = 0; i < {len(bias)}; i++)\n"
                f"\t\tnext[i] = sums(weights{number} + {width} * i, bias{number}[i],"
                f" values, {width});\n"
                f"\tmemcpy(values, next, {len(bias)} * sizeof(*values));"
            )
            width = len(bias)
            widest = max(widest, width)
        else:
            call = "learnt_tanh(values[i])" if kind == "tanh" else "max_t(s64, values[i], 0)"
            layers.append(f"\tfor (i = 0; i < {width}; i++)\n\t\tvalues[i] = {call};")
            most = 1.0 if kind == "tanh" else most
    if widest > _MOST_WIDTH:
        raise _refused(f"layers: found {widest} values; allowed in a kernel: {_MOST_WIDTH}")
    return weights, layers, widest


def _numbers(values: Iterable[float]) -> str:
    """Values as integers, eight a line."""
    texts = [str(round(value * _ONE)) for value in values]
    lines = [", ".join(texts[at : at + 8]) for at in range(0, len(texts), 8)]
    return "\n".join(f"\t{line}," for line in lines)


def _refused(message: str) -> DumbbellError:
    return DumbbellError(message, code=Code.PLUGIN)


def main(words: Sequence[str] | None = None) -> None:
    """Writes the source of a module."""
    parser = argparse.ArgumentParser("python -m dumbbell.gym.export", description=__doc__)
    parser.add_argument("policy", type=Path, help="file of ONNX")
    parser.add_argument("--c", type=Path, default=Path("tcp_learnt.c"), help="file to write")
    parser.add_argument("--name", default="learnt", help="name of the algorithm in Linux")
    options = parser.parse_args(words)
    try:
        options.c.write_text(kernel_source(load_policy(options.policy), options.name), "utf-8")
    except (DumbbellError, OSError) as error:
        _stop(parser, error)


def _stop(parser: argparse.ArgumentParser, error: Exception) -> NoReturn:
    parser.exit(2, f"dumbbell: {error}\n")


if __name__ == "__main__":
    main()
