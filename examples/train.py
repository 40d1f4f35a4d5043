"""Trains a small congestion control by CMA-ES: `python examples/train.py [--seconds 60]`.

The policy is a network of 6-8-1 with tanh. Its output multiplies the window every 20 ms. It is
saved as ONNX, and `plugins: {learnt: ./policy.onnx}` of an experiment file runs it. Needs the extra
`gym`: pip install 'dumbbell-lab[gym]'. The same seed and number of generations give the same
policy.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import cma
import gymnasium
import numpy as np
from numpy.typing import NDArray

from dumbbell.gym import ID, Dense, save_policy

#: Send buffer, bytes: no policy of the first generations keeps a long queue busy for long.
WMEM = [4096, 16384, 600_000]
#: The worlds: rate, RTT and queue limit are drawn for each episode.
EXPERIMENT: dict[str, Any] = {
    "dumbbell": 1,
    "name": "train",
    "template": {"dumbbell": {"rate": "$rate", "rtt": "$rtt", "buffer": "$buffer"}},
    "factors": {
        "rate": ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"],
        "rtt": ["20 ms", "40 ms", "80 ms"],
        "buffer": ["0.5 bdp", "1 bdp", "4 bdp"],
    },
    "flows": [
        {
            "name": "flow1",
            "from": "s1",
            "to": "d1",
            "tcp": {"congestion_control": "cubic", "sender": {"tcp_wmem": WMEM}},
        }
    ],
    "duration": "4 s",
}
OBSERVATIONS = ("throughput", "rtt", "min_rtt", "loss_rate", "in_flight", "cwnd")
INPUTS, HIDDEN = len(OBSERVATIONS), 8
CHOICES: dict[str, Any] = {
    "actions": ["cwnd_factor"],
    "scaled": True,
    "observations": OBSERVATIONS,
    "step": "20 ms",
}
WEIGHTS = (INPUTS + 1) * HIDDEN + HIDDEN + 1
#: Policies of a generation, and worlds of each.
POPULATION, WORLDS = 16, 8
#: What a lost packet costs: 1 % of losses as much as 10 % of throughput.
LOSS = 10.0


def worlds(count: int) -> Any:
    """Environment of so many worlds."""
    return gymnasium.make_vec(ID, num_envs=count, experiment=EXPERIMENT, agent="flow1", **CHOICES)


def parts(weights: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Weights and biases of both layers, by policy."""
    end = INPUTS * HIDDEN
    first = weights[:, :end].reshape(-1, HIDDEN, INPUTS)
    return first, weights[:, end : end + HIDDEN], weights[:, end + HIDDEN : -1], weights[:, -1:]


def act(weights: NDArray[Any], seen: NDArray[Any]) -> NDArray[Any]:
    """Actions from -1/3 to 1/3. `seen`: by policy, world and observation."""
    first, bias, second, last = parts(weights)
    hidden = np.tanh(seen @ first.swapaxes(1, 2) + bias[:, None, :])
    # A third of the scale: factors of 0.46 to 2.15.
    return np.tanh((hidden * second[:, None, :]).sum(axis=2) + last) / 3


def save(path: Path, weights: NDArray[Any]) -> None:
    """Saves a policy."""
    first, bias, second, last = (part[0] for part in parts(weights[None]))
    layers = [Dense(first, bias, "tanh"), Dense(second[None], last, "tanh")]
    save_policy(path, [*layers, Dense([[1 / 3]], [0.0])], **CHOICES)


def score(env: Any, weights: NDArray[Any], seed: int) -> NDArray[Any]:
    """Mean of rewards and losses of each policy, over the same worlds."""
    policies = len(weights)
    seen, _ = env.reset(seed=[seed + world for _ in range(policies) for world in range(WORLDS)])
    total, steps = np.zeros(policies * WORLDS), np.zeros(policies * WORLDS)
    running = np.ones(policies * WORLDS, bool)
    while running.any():
        actions = act(weights, seen.reshape(policies, WORLDS, INPUTS)).reshape(-1, 1)
        seen, rewards, terminated, truncated, _ = env.step(actions)
        lost = seen[:, OBSERVATIONS.index("loss_rate")]
        total += (rewards - LOSS * lost) * running
        steps += running
        running &= ~(terminated | truncated)
    return np.asarray((total / steps).reshape(policies, WORLDS).mean(axis=1))


def main() -> None:
    """Trains, prints the score of each generation, saves the policy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--generations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("policy.onnx"))
    options = parser.parse_args()
    env = worlds(POPULATION * WORLDS)
    search = cma.CMAEvolutionStrategy(
        np.zeros(WEIGHTS), 0.5, {"popsize": POPULATION, "seed": options.seed, "verbose": -9}
    )
    begin, generation = time.monotonic(), 0
    while generation < options.generations and time.monotonic() - begin < options.seconds:
        asked = search.ask()
        found = score(env, np.array(asked), seed=1000 * generation)
        search.tell(asked, list(-found))
        generation += 1
        print(f"generation {generation}: best {found.max():.3f}, mean {found.mean():.3f}")
    env.close()
    best = np.float64(np.float32(search.result.xfavorite))  # as they are saved
    unseen = score(worlds(WORLDS), best[None], seed=10**7)[0]
    print(f"score in worlds that it has not seen: {unseen:.3f}")
    save(options.output, best)


if __name__ == "__main__":
    main()
