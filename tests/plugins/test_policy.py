"""A policy as a plug-in acts as it did in its environment; files that are no policy are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.gym import CongestionEnv, Dense, load_policy, save_policy
from dumbbell.gym.onnx import written
from tests.plugins.built import ROOT

CHOICES: dict[str, Any] = {
    "actions": ["cwnd_factor"],
    "scaled": True,
    "observations": ["rtt_ratio", "cwnd", "throughput"],
    "step": "20 ms",
}
#: Grows while the RTT is below 1.3 times its minimum.
LAYERS = [Dense([[-2.0, 0.1, 0.3], [0.5, 0, 0]], [2.6, -1], "tanh"), Dense([[0.3, 0.01]], [0.0])]
WORLD: dict[str, Any] = {
    "dumbbell": 1,
    "name": "policy",
    "template": {
        "dumbbell": {"pairs": 2, "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "0.3 BDP"}
    },
    "flows": [
        {"name": "flow1", "from": "s1", "to": "d1", "tcp": "cubic"},
        {"name": "flow2", "from": "s2", "to": "d2", "tcp": "reno", "start": "1 s"},
    ],
    "duration": "5 s",
    "sampling": "1 ms",
    "seed": 7,
}


def plugged(file: Path, **parameters: float) -> dict[str, Any]:
    """The world with a policy in its first flow."""
    flows = [WORLD["flows"][0] | {"tcp": "learnt"}, WORLD["flows"][1]]
    return WORLD | {
        "plugins": {"learnt": {"file": str(file), "parameters": parameters}},
        "flows": flows,
    }


@pytest.mark.parametrize("step", ["20 ms", "7.3 ms", "1 rtt", "8 acks"])
def test_a_policy_acts_as_in_its_environment(step: str, tmp_path: Path) -> None:
    """Both runs have the same windows at the same times, every millisecond, and the same totals."""
    choices = CHOICES | {"step": step}
    save_policy(tmp_path / "policy.onnx", LAYERS, **choices)
    policy = load_policy(tmp_path / "policy.onnx")
    env = CongestionEnv(WORLD, "flow1", record=True, **choices)
    observation, _ = env.reset(seed=3)
    windows, over = set(), False
    while not over:
        observation, _, _, over, _ = env.step(policy.act(observation.tolist()))
        windows.add(env.values()["cwnd"])
    assert len(windows) > 10
    tables = env.finish().tables
    results = dumbbell.run(plugged(tmp_path / "policy.onnx"))
    for name, rows in [("samples", 9000), ("pipes", 2), ("flows", 2)]:
        learning, plug_in = pl.read_ipc_stream(tables[name]), getattr(results, name)
        columns = [one for one in learning.columns if one not in ("phase", "congestion_control")]
        columns = [one for one in columns if one in plug_in.columns]
        assert learning.height >= rows and len(columns) > 3, name
        assert learning.select(columns).equals(plug_in.select(columns)), name


def test_the_evaluator_agrees_with_numpy(tmp_path: Path) -> None:
    save_policy(tmp_path / "policy.onnx", LAYERS, **CHOICES)
    policy = load_policy(tmp_path / "policy.onnx")
    assert policy.observations == CHOICES["observations"] and policy.step == ("time", 1, 20_000_000)
    for seen in np.random.default_rng(1).uniform(0, 3, (50, 3)).astype(np.float32):
        value: Any = seen.astype(float)
        for layer in LAYERS:
            weights, bias = np.float32(layer.weights), np.float32(layer.bias)
            value = weights.astype(float) @ value + bias
            value = np.tanh(value) if layer.then == "tanh" else value
        assert policy.act(seen.tolist()) == pytest.approx(np.clip(value, -1, 1), abs=1e-12)


def test_training_is_repeatable_and_its_policy_runs(tmp_path: Path) -> None:
    files = [tmp_path / "one.onnx", tmp_path / "other.onnx"]
    for file in files:
        words = ["--generations", "2", "--seed", "4", "-o", str(file)]
        command = [sys.executable, "-W", "ignore", ROOT / "examples" / "train.py", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "generation 2: best" in done.stdout
    assert files[0].read_bytes() == files[1].read_bytes()
    assert dumbbell.run(plugged(files[0])).flows["delivered_bytes"].min() > 0


GOOD = {
    "dumbbell_version": "1",
    "dumbbell_observations": "rtt_ratio,cwnd,throughput",
    "dumbbell_normalised": "true",
    "dumbbell_actions": "cwnd_factor",
    "dumbbell_scaled": "true",
    "dumbbell_step": "time",
    "dumbbell_count": "1",
    "dumbbell_length_ns": "20000000",
}


def file(**notes: str) -> bytes:
    return written(LAYERS, GOOD | notes)


def replaced(old: bytes, new: bytes, count: int = 1) -> bytes:
    data = file()
    assert old in data and len(old) == len(new)
    return data.replace(old, new, count)


#: Files that are no policy, and the words of the message.
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "no ONNX file, or a part of one"),
    "text": (lambda: b"hello, world", "no ONNX file"),
    "zeros": (lambda: bytes(4000), "no ONNX file"),
    "huge length": (lambda: b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "no ONNX file"),
    "endless number": (lambda: b"\x08" + b"\xff" * 40, "no ONNX file"),
    "unknown operator": (
        lambda: replaced(b"Tanh", b"Sinh"),
        "node 2: operator Sinh; allowed: Gemm",
    ),
    "NaN": (
        lambda: replaced(np.float32(2.6).tobytes(), np.float32("nan").tobytes()),
        "weight 0 of bias1 is NaN",
    ),
    "infinite": (
        lambda: replaced(np.float32(2.6).tobytes(), np.float32("inf").tobytes()),
        "weight 0 of bias1 is inf",
    ),
    "shape": (lambda: replaced(b"\x08\x02\x08\x03\x10\x01", b"\x08\x02\x08\x07\x10\x01"), "2×7"),
    "dimension": (
        lambda: replaced(b"\x08\x02\x08\x03\x10\x01", b"\x08\xff\xff\x7f\x10\x01"),
        "a dimension of 2097151; allowed: 1 to 4096",
    ),
    "doubles": (
        lambda: replaced(b"\x08\x02\x08\x03\x10\x01", b"\x08\x02\x08\x03\x10\x0b"),
        "type 11",
    ),
    "without weights": (
        lambda: replaced(b"weights1", b"weights9"),
        "there are no weights weights9",
    ),
    "no chain": (lambda: replaced(b"sums1", b"sums9"), "no chain of layers at Tanh"),
    "attribute": (lambda: replaced(b"transB", b"transQ"), "Gemm with attribute transQ"),
    "inputs": (lambda: file(dumbbell_observations="cwnd"), "3 inputs for 1 observations"),
    "outputs": (lambda: file(dumbbell_actions="cwnd,pacing_rate"), "1 outputs for 2 actions"),
    "observation": (lambda: file(dumbbell_observations="a,b,c"), "there is no a"),
    "action": (lambda: file(dumbbell_actions="jump"), "there is no jump"),
    "version": (lambda: file(dumbbell_version="2"), "have version 2; this Dumbbell has 1"),
    "step": (lambda: file(dumbbell_step="never"), "found never; allowed: time, rtt, acks"),
    "length": (lambda: file(dumbbell_length_ns="0"), "found 0; allowed: 1000 to"),
    "count": (lambda: file(dumbbell_count="-3"), "found -3; allowed: 1 to 1000000"),
    "flag": (lambda: file(dumbbell_scaled="maybe"), "found maybe; allowed: true, false"),
    "without notes": (lambda: written(LAYERS, {}), "no note dumbbell_version"),
    "too large": (lambda: bytes(17 << 20), "it has 17825792 bytes; allowed are 16777216"),
    "nodes": (
        lambda: written([Dense([[1.0]], [0.0])] * 300, GOOD),
        "more than 256",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_policy_is_refused(name: str, tmp_path: Path) -> None:
    made, words = BAD[name]
    path = tmp_path / "bad.onnx"
    path.write_bytes(made())
    with pytest.raises(ExperimentError) as raised:
        dumbbell.run(plugged(path))
    assert words in str(raised.value) and raised.value.code == "E507"


def test_a_truncated_file_is_refused_everywhere(tmp_path: Path) -> None:
    data = file()
    path = tmp_path / "bad.onnx"
    for end in range(len(data)):
        path.write_bytes(data[:end])
        with pytest.raises(
            DumbbellError, match=r"no ONNX file|it has no note|needs one input|no chain"
        ):
            load_policy(path)


def test_a_policy_that_gives_no_number_fails_its_run(tmp_path: Path) -> None:
    """Sums beyond the largest number, of both signs."""
    big = 3e38
    layers = [Dense(np.full((3, 3), big), [0.0] * 3)] + [Dense(np.full((3, 3), big), [0.0] * 3)] * 8
    last = Dense([[big, -big, 0.0]], [0.0])
    save_policy(tmp_path / "policy.onnx", [*layers, last], **CHOICES)
    words = r"plug-in learnt, flow flow1, at 0\.\d+ s: cwnd_factor: found NaN"
    with pytest.raises(DumbbellError, match=words):
        dumbbell.run(plugged(tmp_path / "policy.onnx"))


def test_a_policy_takes_no_parameters(tmp_path: Path) -> None:
    save_policy(tmp_path / "policy.onnx", LAYERS, **CHOICES)
    with pytest.raises(DumbbellError, match="a policy has no parameters; found beta"):
        dumbbell.run(plugged(tmp_path / "policy.onnx", beta=1.0))


def test_a_network_that_does_not_fit_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "policy.onnx"
    for layers, words in [
        ([], "at least one"),
        (LAYERS[:1], "2 outputs for 1 actions"),
        ([LAYERS[0], Dense([[1.0]], [0.0])], "do not fit, 2 inputs"),
        ([Dense([[float("nan")] * 3], [0.0])], "finite numbers"),
    ]:
        with pytest.raises(DumbbellError, match=words):
            save_policy(path, layers, **CHOICES)
    with pytest.raises(DumbbellError, match=r"ends with \.onnx"):
        save_policy(tmp_path / "policy.txt", LAYERS, **CHOICES)
    assert not path.exists()
