"""Learning environments: Gymnasium's and PettingZoo's own checks, results, and bad input."""

from __future__ import annotations

import io
import resource
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.gym import (
    ACTIONS,
    ID,
    REWARDS,
    CongestionEnv,
    CongestionParallelEnv,
    CongestionVectorEnv,
)
from tests.write_gym_page import PAGE, page

#: Two flows on 20 Mbit/s with 40 ms: a BDP of 100 000 bytes.
TWO: dict[str, Any] = {
    "dumbbell": 1,
    "name": "gym",
    "template": {"dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp"}},
    "flows": [
        {"name": name, "from": "s1", "to": "d1", "tcp": "cubic"} for name in ("flow1", "flow2")
    ],
    "duration": "4 s",
}
ALONE = TWO | {"flows": TWO["flows"][:1]}


def run(env: CongestionEnv, action: list[float], seed: int = 1) -> list[np.ndarray]:
    """Observations of an episode under a constant action."""
    seen = [env.reset(seed=seed)[0]]
    while True:
        observation, _, terminated, truncated, _ = env.step(action)
        seen.append(observation)
        if terminated or truncated:
            return seen


@pytest.mark.parametrize("step", ["10 ms", "1 rtt", "8 acks"])
def test_gymnasiums_checks(step: str) -> None:
    choices = {"actions": ["cwnd_factor", "pacing_rate"], "step": step, "scaled": True}
    env = gymnasium.make(ID, experiment=TWO, agent="flow1", **choices)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("reward", ["power", "throughput_delay", "aurora", "orca", "throughput"])
def test_pettingzoos_checks(reward: str) -> None:
    env = CongestionParallelEnv(TWO, ["flow1", "flow2"], reward=reward)
    parallel_api_test(env, num_cycles=500)


def test_the_same_seed_gives_the_same_trajectory() -> None:
    text = TWO | {"factors": {"rate": ["10 Mbit/s", "20 Mbit/s"], "rtt": ["20 ms", "40 ms"]}}
    text["template"] = {"dumbbell": {"rate": "$rate", "rtt": "$rtt", "buffer": "1 bdp"}}
    env = CongestionEnv(text, "flow1")
    first, again, other = (run(env, [40.0], seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not (len(first) == len(other) and np.array_equal(first, other))
    drawn = {tuple(env.reset(seed=seed)[1]["levels"].items()) for seed in range(40)}
    assert len(drawn) == 4


def digest(step: str) -> str:
    """Digest of a run under a constant action in steps of a length."""
    actions = ["cwnd", "pacing_rate"]
    env = CongestionEnv(TWO, "flow1", step=step, actions=actions, record=True)
    env.reset(seed=1)
    over = False
    while not over:
        over = env.step([60.0, 12.0])[3]
    return env.finish().digest


def test_a_run_in_steps_has_the_digest_of_one_step() -> None:
    """The last one goes from the first action to the end of the run by `finish`."""
    assert len({digest(step) for step in ("10 ms", "1 ms", "3.7 ms", "10 s", "1 rtt")}) == 1


def test_a_constant_window_is_a_window_per_round_trip() -> None:
    env = CongestionEnv(ALONE, "flow1", normalised=False, step="1 s")
    run(env, [40.0])
    values = env.values()
    rate = 40 * 1448 * 8 / (values["rtt"] * 1e3)
    assert values["rtt"] == pytest.approx(41.4, abs=1.0)  # 40 ms, and serialisation
    assert values["throughput"] == pytest.approx(rate, rel=0.02)
    assert values["loss_rate"] == 0.0


def test_the_worlds_of_a_vector_are_single_worlds() -> None:
    vector = gymnasium.make_vec(ID, num_envs=3, experiment=TWO, agent="flow1")
    assert isinstance(vector.unwrapped, CongestionVectorEnv)
    vector.reset(seed=7)
    single = CongestionEnv(TWO, "flow1")
    single.reset(seed=8)
    actions = np.array([[20.0], [60.0], [200.0]])
    over = False
    while not over:
        seen, rewards, _, truncated, _ = vector.step(actions)
        alone, reward, _, over, _ = single.step([60.0])
        assert np.array_equal(seen[1], alone) and rewards[1] == reward
        assert bool(truncated[1]) == over
    seen, rewards, _, truncated, _ = vector.step(actions)
    assert not truncated.any() and not rewards.any()  # The next episodes have begun.
    assert np.array_equal(seen[1], single.reset()[0])
    vector.close()


def test_a_flow_that_has_sent_everything_is_over() -> None:
    flow = TWO["flows"][0] | {"tcp": {"congestion_control": "cubic", "bytes": "100 kB"}}
    env = CongestionEnv(TWO | {"flows": [flow]}, "flow1")
    env.reset(seed=1)
    terminated = truncated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, _ = env.step([10.0])
    assert terminated and not truncated
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([10.0])


def test_rewards_follow_their_formulas() -> None:
    """A window of twice the BDP and the buffer: packets are lost."""
    found = {}
    for reward in REWARDS:
        env = CongestionEnv(ALONE, "flow1", reward=reward, step="500 ms")
        env.reset(seed=1)
        env.step([300.0])
        found[reward] = env.step([300.0])[1]
        values = env.values()
    throughput, most, rtt = values["throughput"], values["max_throughput"], values["rtt"]
    loss = values["loss_rate"]
    assert 0 < loss < 1 and rtt > 60
    packets_per_s = throughput * 1e6 / (1448 * 8)
    lost = throughput * loss / (1 - loss)
    delay = min(1.0, 1.25 * values["min_rtt"] / values["srtt"])
    assert found == pytest.approx(
        {
            "power": throughput / rtt,
            "throughput_delay": np.log(throughput) - np.log(rtt),
            "aurora": 10 * packets_per_s - rtt - 2000 * loss,
            "orca": (throughput - 5 * lost) / most * delay,
            "throughput": throughput,
        }
    )


def test_agents_of_one_network_share_it() -> None:
    env = CongestionParallelEnv(TWO, ["flow1", "flow2"], step="100 ms", normalised=False)
    env.reset(seed=1)
    while env.agents:
        env.step({agent: np.array([60.0], np.float32) for agent in env.agents})
    rates = [env.values(agent)["throughput"] for agent in env.possible_agents]
    assert sum(rates) == pytest.approx(20 * 1448 / 1514, rel=0.05)
    with pytest.raises(ResetNeeded):
        env.step({})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([np.nan], "found NaN; allowed: 1 to 100000 packets"),
        ([np.inf], "found inf; allowed"),
        ([1e9], "found 1000000000; allowed"),
        ([0.0], "action cwnd of agent flow1: found 0; allowed: 1 to 100000 packets"),
        ([1.0, 2.0], r"found shape \(2,\); allowed: \(1,\)"),
    ],
)
def test_an_absurd_action_is_one_clear_error(action: list[float], message: str) -> None:
    env = CongestionEnv(TWO, "flow1")
    env.reset(seed=1)
    before = env.values()
    with pytest.raises(ValueError, match=message):
        env.step(action)
    assert env.values() == before  # Nothing has moved.
    env.step([10.0])


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"actions": ["window"]}, "no action window"),
        ({"actions": []}, "a list of at least one name"),
        ({"actions": ["cwnd", "cwnd_factor"]}, "set the same"),
        ({"observations": ["thoughput"]}, "did you mean throughput?"),
        ({"observations": ["pacing_rate"]}, "no action sets a pacing rate"),
        ({"reward": "joy"}, "no reward joy; allowed: power"),
        ({"step": "10"}, "step: found '10'; allowed: a time such as 10 ms"),
        ({"step": "0 acks"}, "a whole number"),
        ({"step": "1 rtt", "longest": "2 rtt"}, "is no time"),
    ],
)
def test_a_choice_that_there_is_not(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(DumbbellError) as error:
        CongestionEnv(TWO, "flow1", **choices)
    assert message in str(error.value)


@pytest.mark.parametrize("agents", [[], "flow1", ["flow1", "flow1"]])
def test_agents_are_some_flows_each_once(agents: Any) -> None:
    with pytest.raises(DumbbellError, match=r"agents: (a list of at least one|each) name"):
        CongestionParallelEnv(TWO, agents)


def test_an_experiment_that_cannot_be_learnt_in() -> None:
    with pytest.raises(ExperimentError, match="an agent is a flow of the experiment; found flow3"):
        CongestionEnv(TWO, "flow3")
    programs = {"name": "server", "on": "d1", "run": "iperf3 -s -1"}
    with pytest.raises(ExperimentError, match="which runs no programs"):
        CongestionEnv(TWO | {"programs": [programs]}, "flow1")
    udp = TWO | {"flows": [{"name": "flow1", "from": "s1", "to": "d1", "udp": "1 Mbit/s"}]}
    with pytest.raises(ExperimentError, match="it is no flow of TCP"):
        CongestionEnv(udp, "flow1")
    late = TWO | {"flows": [TWO["flows"][0] | {"start": "3999 ms"}]}
    env = CongestionEnv(late, "flow1")
    with pytest.raises(ExperimentError, match="before the connection of every agent"):
        env.reset(seed=1)


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


@pytest.mark.slow
def test_many_resets_take_no_memory() -> None:
    env = CongestionEnv(TWO, "flow1")
    for seed in range(1000):
        env.reset(seed=seed)
        env.step([60.0])
    before = resident_mb()
    for seed in range(10_000):
        env.reset(seed=seed)
        env.step([60.0])
    assert resident_mb() - before < 20


def test_bounds_are_those_of_the_actions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = CongestionEnv(TWO, "flow1", actions=["cwnd", "pacing_factor"])
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert list(space.low) == pytest.approx([ACTIONS["cwnd"].low, ACTIONS["pacing_factor"].low])
    env.reset(seed=1)
    for action in (space.low, space.high):
        env.step(action)


def test_the_page_has_every_name() -> None:
    """`python -m tests.write_gym_page` renews it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_an_agent_competes_with_a_stack() -> None:
    """Windows of the agent decide what is left for QUIC."""
    flows = [*ALONE["flows"], {"name": "q", "from": "s1", "to": "d1", "quic": "cubic"}]
    left = []
    for window in (10.0, 80.0):
        env = CongestionEnv(TWO | {"flows": flows}, "flow1", record=True)
        env.reset(seed=1)
        over = False
        while not over:
            over = env.step([window])[3]
        flows_table = pl.read_ipc_stream(io.BytesIO(env.finish().tables["flows"]))
        left.append(flows_table.filter(pl.col("flow") == "q")["delivered_bytes"][0])
    assert left[0] > 1.5 * left[1] > 0
