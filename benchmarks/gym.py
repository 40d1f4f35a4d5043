"""Steps per second of the learning environments: `python -m benchmarks.gym`.

Steps of 10 ms at 20 Mbit/s and an RTT of 40 ms, with windows of 58 % and 150 % of the BDP, with 1,
8 and 64 worlds through `gymnasium.make_vec`, all on one core. The best of several repeats counts,
since other work only adds time.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np

from dumbbell.gym import ID

EXPERIMENT: dict[str, Any] = {
    "dumbbell": 1,
    "name": "benchmark",
    "template": {"dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp"}},
    "flows": [{"name": "flow1", "from": "s1", "to": "d1", "tcp": "cubic"}],
    "duration": "60 s",
}
#: Window in packets, by name: BDP of 66 frames.
WINDOWS = {"58 % of the BDP": 38.0, "150 % of the BDP": 99.0}
WORLDS = (1, 8, 64)


def rate(worlds: int, window: float, steps: int) -> float:
    """Steps per second of all worlds."""
    env = gymnasium.make_vec(ID, num_envs=worlds, experiment=EXPERIMENT, agent="flow1")
    env.reset(seed=1)
    actions = np.full((worlds, 1), window, np.float32)
    for _ in range(100):
        env.step(actions)
    calls = max(200, steps // worlds)
    begin = time.perf_counter()
    for _ in range(calls):
        env.step(actions)
    taken = time.perf_counter() - begin
    env.close()
    return calls * worlds / taken


def reset_us(resets: int) -> float:
    """Time of a reset, µs."""
    env = gymnasium.make(ID, experiment=EXPERIMENT, agent="flow1")
    env.reset(seed=0)
    begin = time.perf_counter()
    for seed in range(resets):
        env.reset(seed=seed)
    return (time.perf_counter() - begin) / resets * 1e6


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("| window | " + " | ".join(f"{count} worlds" for count in WORLDS) + " |")
    print("| --- |" + " --- |" * len(WORLDS))
    for name, window in WINDOWS.items():
        best = [
            max(rate(count, window, options.steps) for _ in range(options.repeats))
            for count in WORLDS
        ]
        print(f"| {name} | " + " | ".join(f"{one:,.0f}" for one in best) + " |")
    print(f"\nreset: {min(reset_us(1000) for _ in range(options.repeats)):.0f} µs")


if __name__ == "__main__":
    main()
