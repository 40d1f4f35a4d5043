"""Runs without a store are kept in memory, and give what runs with one give."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dumbbell
from dumbbell import _core
from dumbbell.errors import EngineError
from dumbbell.execution import execute
from dumbbell.results import Results
from dumbbell.store import MemoryStore, Store, memory
from dumbbell.store.tables import with_constants
from tests.helpers import ROOT, FakeEngine, loaded

TABLES = [one.name for one in fields(Results) if one.name != "experiment"]
ONE = """\
dumbbell: 1
name: one
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 20 packets}}
flows:
  - {name: f, from: s1, to: d1, tcp: reno, start_jitter: 1 RTT}
  - {name: p, from: s2, to: d2, ping: {interval: 50 ms}}
taps: [{at: r1, link: s1-r1}]
sampling:
  interval: 50 ms
  keep: [samples, queues, drops, probes]
  hops: {to: 100 ms}
  packets: {to: 100 ms}
  capture: true
duration: 1 s
"""
#: Runs of two cells are one run: equal scenarios have equal ids.
SEVERAL = ONE.replace("reno", "$cc").replace("20 ms", "$rtt") + (
    "factors: {cc: [reno, cubic], rtt: [20 ms, 0.02 s, 40 ms]}\nrepeats: 2\nseed: 5\n"
)

#: Tables without rows here.
ABSENT = ("transfers", "connections", "programs", "program_files", "sockets")


@pytest.mark.parametrize("text", [ONE, SEVERAL], ids=["one run", "several"])
def test_memory_gives_what_a_store_gives(text: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text)
    stored, found = dumbbell.run(file, store=tmp_path / "store"), dumbbell.run(file)
    assert found.experiment == stored.experiment
    for name in TABLES:
        ours, theirs = getattr(found, name), getattr(stored, name)
        if name == "runs":
            ours, theirs = ours.drop("wall_s"), theirs.drop("wall_s")
        assert_frame_equal(ours, theirs)
        assert found.has(name) == stored.has(name) == (name not in ABSENT)
    assert found.samples["run"].n_unique() == stored.runs["run"].n_unique()
    assert "in memory" in str(found)


def test_a_table_is_made_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    honest = memory.frame_of

    def noted(name: str, streams: dict[str, bytes]) -> pl.DataFrame:
        made.append(name)
        return honest(name, streams)

    monkeypatch.setattr(memory, "frame_of", noted)
    file = tmp_path / "e.yaml"
    file.write_text(SEVERAL)
    found = dumbbell.run(file)
    copied = pickle.loads(pickle.dumps(found))
    assert made == []
    assert found.samples is found.samples
    assert made == ["samples"]
    other = found.with_tables(flows=found.flows.head(1))
    assert (other.flows.height, other.samples.height) == (1, found.samples.height)
    assert made == ["samples", "flows"]
    with pytest.raises(ValueError, match=r"flow: no table of results; did you mean flows\?"):
        found.with_tables(flow=found.flows)
    (part,) = found.parts("queues", ["pipe"])
    assert part.columns == ["run", "pipe"]
    repeat = found.of_repeat("queues", {"cc": "cubic"}, 1)
    assert set(repeat["seed"]) == {6}
    assert set(repeat["cc"]) == {"cubic"}
    assert made == ["samples", "flows", "queues"]
    assert_frame_equal(copied.samples, found.samples)


NOTHING_WRITTEN = """
import os, sys
import dumbbell, polars
from tests.helpers import ROOT
dumbbell.run(sys.argv[1])  # imports, whose byte code may be written

def refuse(event, args):
    changes = event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")
    if changes or event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        raise OSError(30, "Read-only file system", str(args[0]))

sys.addaudithook(refuse)
print(dumbbell.run(sys.argv[1]).flows.height)
try:
    dumbbell.run(sys.argv[1], store=sys.argv[2])
except dumbbell.StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_run_without_a_store_writes_nothing(tmp_path: Path) -> None:
    file, store = tmp_path / "e.yaml", tmp_path / "store"
    file.write_text(ONE)
    command = [sys.executable, "-c", NOTHING_WRITTEN, str(file), str(store)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == [
        "2",
        f"{store}: the store cannot be opened: Read-only file system",
    ]


def test_a_failed_run_is_told_as_with_a_store(tmp_path: Path) -> None:
    messages = []
    with Store(tmp_path, write=True) as stored:
        for store in (MemoryStore(), stored):
            engine = FakeEngine()
            engine.fail = lambda run: _core.DefectError("1 lost") if run.seed == 6 else None
            with pytest.raises(EngineError) as raised:
                execute(loaded(SEVERAL), engine, store, workers=1)
            messages.append(str(raised.value))
            assert len(engine.executed) == 4
    assert messages[0] == messages[1]
    assert "4 runs finished" in messages[0]


@pytest.mark.parametrize("parts", [1, 3])
def test_constant_columns_fit_the_chunks_of_a_table(parts: int) -> None:
    """A large table comes in several batches."""
    frame = pl.concat([pl.DataFrame({"run": ["a"] * 2, "x": [i, i + 9]}) for i in range(parts)])
    assert frame.n_chunks() == parts
    found = with_constants(frame, {"cc": "reno", "seed": 7}, at=1)
    assert found.columns == ["run", "cc", "seed", "x"]
    assert found.schema["seed"] == pl.Int64()
    expected = [("a", "reno", 7, x) for i in range(parts) for x in (i, i + 9)]
    assert found.rows() == expected
    assert found.to_arrow().to_pylist() == [
        dict(zip(found.columns, e, strict=True)) for e in expected
    ]
    assert found.filter(pl.col("x") >= 9).rows() == [one for one in expected if one[3] >= 9]
    assert pl.concat([found, found]).rechunk().rows() == expected * 2
    assert found.group_by("cc", "seed").agg(pl.col("x").sum()).rows()[0][:2] == ("reno", 7)
