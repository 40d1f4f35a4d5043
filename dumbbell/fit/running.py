"""Runs of a twin: its capture at the tap, observed as the given capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell import _core
from dumbbell.engines.sim import SimEngine
from dumbbell.experiment.load import load
from dumbbell.fit.observe import PACKETS_MAX, Observed, from_columns
from dumbbell.fit.twin import Sketch, experiment
from dumbbell.runs import Run


def run_twin(one: Sketch, algorithm: str, seed: int, like: Observed) -> Observed:
    """Runs a twin in the simulator, and observes it at its tap as `like` was observed."""
    return run_contents(experiment(one, algorithm), seed, like)


def run_contents(contents: Mapping[str, Any], seed: int, like: Observed) -> Observed:
    """Runs an experiment with one cell and one tap, see `run_twin`."""
    cell = load(contents).cells[0]
    run = Run("twin", cell.scenario, seed, cell.duration_ns)
    capture = SimEngine().execute(run, _core.Monitor()).capture
    found = _core.capture_series(capture or b"", 0, PACKETS_MAX)  # the twin's alone
    columns = {key: np.frombuffer(data, kind) for key, (kind, data) in found.items()}
    own = (columns["side"] == 0) & (columns["payload_bytes"] > 0)
    payload = int(columns["payload_bytes"][own].sum())
    packets = int(own.sum())
    row = {
        "connection": 0,
        "direction": "a_to_b",
        "opened_it": True,
        "packets": packets,
        "bytes": payload + round(packets * like.header_bytes),
        "payload_bytes": payload,
        "unique_bytes": payload,
        "data_packets": packets,
        "reordered_packets": int((columns["what"] == 2).sum()),
        "ecn_congested_packets": 0,
        "handshake_rtt_ns": None,
        "syn_rtt_ns": None,
        "fins": 0,
        "cut_options_packets": 0,
        "acks_with_cut_options": 0,
    }
    return from_columns(columns, row)
