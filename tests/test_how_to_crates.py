"""The how-tos of CONTRIBUTING.md, followed as written for the simulator.

A throw-away congestion control and a throw-away queue discipline, built beside the others in a copy
of the crates, carry a flow.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.experiment import load_text
from tests.helpers import ROOT

pytestmark = pytest.mark.slow

EXPERIMENT = """\
dumbbell: 1
name: how to
template:
  dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, forward: {queue: pfifo}, backward: {buffer: 1 BDP}}
flows: [{name: f, from: s1, to: d1, tcp: reno}]
duration: 10 s
"""

#: Sends ten packets per round trip, whatever happens.
CONTROL_ENTRY = """
            Constant constant {
                title: "Constant",
                source: "none",
                about: "Ten packets per round trip.",
            };
"""
CONTROL = """
//! Ten packets per round trip.

use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

struct Constant;

pub(crate) fn new(_: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Constant)
}

impl CongestionControl for Constant {
    fn ssthresh(&mut self, _: &Conn, _: &mut Window) -> u32 {
        10
    }

    fn init(&mut self, _: &Conn, window: &mut Window) {
        (window.cwnd, window.ssthresh) = (10, 10);
    }
}
"""

#: A queue that drops every tenth packet.
DISCIPLINE_ENTRY = """
            EveryNth every_nth {
                name: "every_nth",
                title: "Every nth",
                not_in_linux: "It was made up.",
                source: "none",
                about: "Drops every nth packet.",
            } {
                /// Number of packets of which one is dropped.
                nth "nth": u32 = whole("nth", 2, 1000, 10);
            };
"""
DISCIPLINE = """
//! Drops every nth packet.

use super::{Arrival, Context, Discipline, Head, Line, Verdicts};
use dumbbell_model::{queue, Time};

#[derive(Debug)]
pub(super) struct EveryNth {
    nth: u32,
    seen: u32,
    line: Line,
}

impl EveryNth {
    pub(super) fn new(spec: &queue::EveryNth, _: &Context<'_>) -> Self {
        Self { nth: spec.nth, seen: 0, line: Line::default() }
    }
}

impl Discipline for EveryNth {
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        self.seen += 1;
        if self.seen % self.nth == 0 {
            return verdicts.signal(&arrival.queued);
        }
        self.line.push(arrival.queued);
    }

    fn dequeue(&mut self, _: Time, _: &mut Verdicts) -> Head {
        self.line.pop().into()
    }

    fn length(&self) -> (usize, u64) {
        self.line.length()
    }
}
"""

#: Runs scenarios and prints their tables: file, column, numbers.
PROGRAM = """
struct Always;

impl dumbbell_sim::Monitor for Always {
    fn progress(&self, _: dumbbell_model::Time) -> bool {
        true
    }
}

fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).expect("a scenario");
        let scenario = dumbbell_model::Scenario::from_json(&text).expect("a sound scenario");
        let output = dumbbell_sim::run(&scenario, 1, &Always).expect("a run");
        for table in &output.tables {
            for (column, values) in table.spec.columns.iter().zip(&table.columns) {
                if let dumbbell_model::tables::Column::Int(values) = values {
                    println!("{file} {}.{} {:?}", table.spec.name, column.name, values.to_vec());
                }
            }
        }
    }
}
"""
CRATES = (
    "stack", "model", "packet", "packetdrill", "plugin", "cc", "policy", "web", "capture", "sim",
)  # fmt: skip


def copied(folder: Path) -> None:
    """A workspace of the crates that a simulation needs, and the program."""
    skip = shutil.ignore_patterns("target", "tests", "examples", "proptest-regressions")
    for name in CRATES:
        shutil.copytree(ROOT / "crates" / name, folder / "crates" / name, ignore=skip)
    program = folder / "crates" / "program"
    (program / "src").mkdir(parents=True)
    (program / "src" / "main.rs").write_text(PROGRAM, encoding="utf-8")
    (program / "Cargo.toml").write_text(
        '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
        "dumbbell-model.workspace = true\ndumbbell-sim.workspace = true\n",
        encoding="utf-8",
    )
    members = ", ".join(f'"crates/{name}"' for name in (*CRATES, "program"))
    workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    workspace = re.sub(r"(?m)^members = .*$", f"members = [{members}]", workspace)
    (folder / "Cargo.toml").write_text(workspace, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
    shutil.copy(ROOT / "clippy.toml", folder / "clippy.toml")


def with_entry(file: Path, entry: str) -> None:
    """Puts an entry behind all others of the catalogue."""
    text = file.read_text(encoding="utf-8")
    head, end, rest = text.partition("\n        }\n    };\n}\n")
    assert end, f"{file}: the list of entries does not end as it did"
    file.write_text(f"{head}{entry.rstrip()}{end}{rest}", encoding="utf-8")


def scenario(**changes: object) -> str:
    """The scenario of the experiment with another queue or congestion control."""
    (cell,) = load_text(EXPERIMENT, Path("one.yaml")).cells
    found = json.loads(cell.scenario)
    if "queue" in changes:
        (line,) = (
            link
            for link in found["links"]
            if "drop_tail" in str(link["forward"]["queue"]) and link["forward"]["shaper"] != "none"
        )
        line["forward"]["queue"] = changes["queue"]
    text = json.dumps(found)
    return text.replace('"reno"', json.dumps(changes.get("tcp", "reno")))


def column(printed: str, file: str, name: str) -> list[int]:
    """The numbers of a column."""
    (found,) = re.findall(rf"(?m)^{file} {name} (.*)$", printed)
    values: list[int] = json.loads(found)
    return values


def test_a_throw_away_congestion_control_and_discipline_carry_a_flow(tmp_path: Path) -> None:
    copied(tmp_path)
    catalogue = tmp_path / "crates" / "model" / "src" / "catalogue"
    with_entry(catalogue / "congestion_control.rs", CONTROL_ENTRY)
    (tmp_path / "crates" / "cc" / "src" / "constant.rs").write_text(CONTROL, encoding="utf-8")
    with_entry(catalogue / "discipline.rs", DISCIPLINE_ENTRY)
    qdisc = tmp_path / "crates" / "sim" / "src" / "qdisc"
    (qdisc / "every_nth.rs").write_text(DISCIPLINE, encoding="utf-8")
    texts = {
        "tcp.json": scenario(tcp="constant"),
        "queue.json": scenario(queue={"every_nth": {"nth": 50}}),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    # Built apart, so that neither build undoes the other, and kept: the second time takes seconds.
    built = ROOT / "target" / "how-to"
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(built),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
        "CARGO_PROFILE_DEV_DEBUG": "0",
    }
    command = ["cargo", "run", "--offline", "--quiet", "-p", "program", "--", *texts]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # Ten packets per round trip: 20 ms, two packets of 1514 bytes (an ACK is for two), their ACK.
    (delivered,) = column(done.stdout, "tcp.json", "flows.delivered_bytes")
    assert delivered * 8 / 10 == pytest.approx(10 * 1448 * 8 / 0.02248, rel=0.01)
    # One of fifty is dropped, and the flow lives with it.
    arrived, dropped = (
        column(done.stdout, "queue.json", f"pipes.{name}_packets")
        for name in ("arrived", "dropped_aqm")
    )
    (share,) = (d / a for d, a in zip(dropped, arrived, strict=True) if d)
    assert share == pytest.approx(1 / 50, rel=0.02)
    (delivered,) = column(done.stdout, "queue.json", "flows.delivered_bytes")
    assert delivered > 1_000_000
