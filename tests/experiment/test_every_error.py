"""All errors of a file at once."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from dumbbell.cli import app

#: Errors of a file that are told: `MOST_ERRORS` in crates/experiment.
MOST = 20
MANY = """\
dumbbell: 1
name: many
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40, bufer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: {congestion_control: cubik, tcp_ecn: 1}}
  - {from: s2, to: d2, tcp: bbr, strat: 5 s, initcwnd: 3}
  - {from: s2, tcp: bbr}
duratoin: 2 s
"""


def refused(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["validate", str(file)])
    assert done.exit_code == 2, done.output
    return [line.replace(str(file), "e") for line in done.stderr.splitlines()]


def test_every_error_has_its_line_and_code(tmp_path: Path) -> None:
    lines = refused(tmp_path, MANY)
    found = [(line.split(": ")[1], line.split(": ")[2], line[-6:]) for line in lines]
    assert sorted(found) == sorted(
        [
            ("e:3", "template.dumbbell.bufer", "[E104]"),
            ("e:3", "template.dumbbell.rtt", "[E202]"),
            ("e:5", "flows[0].tcp.tcp_ecn", "[E104]"),
            ("e:5", "flows[0].tcp.congestion_control", "[E205]"),
            ("e:6", "flows[1].strat", "[E104]"),
            ("e:6", "flows[1].initcwnd", "[E104]"),
            ("e:7", "flows[2].to", "[E105]"),
            ("e:8", "duratoin", "[E104]"),
        ]
    )
    assert [found[0][0], found[-1][0]] == ["e:3", "e:8"]


def test_a_misspelt_field_is_not_also_missing(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, MANY.splitlines()[0] + "\nname: one\nflow: []\nduration: 1 s\n")
    assert "flow: unknown field; did you mean flows?" in line


def test_errors_end_somewhere(tmp_path: Path) -> None:
    fields = "".join(f"field{number}: 1\n" for number in range(60))
    assert len(refused(tmp_path, "dumbbell: 1\nname: one\nduration: 1 s\n" + fields)) == MOST


def test_unreadable_yaml_and_parts_that_do_not_fit_are_one_error(tmp_path: Path) -> None:
    assert len(refused(tmp_path, "dumbbell: 1\n\tname: x\n")) == 1
    text = MANY.splitlines()[0] + (
        "\nname: one\ntemplate: {dumbbell: {rate: 1 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}\n"
        "flows: [{from: s9, to: d1, tcp: cubic}]\nduration: 1 s\n"
    )
    (line,) = refused(tmp_path, text)
    assert "s9" in line


def test_a_tcp_option_of_a_flow_hints_at_its_host(tmp_path: Path) -> None:
    lines = refused(tmp_path, MANY)
    (one,) = [line for line in lines if "tcp_ecn" in line]
    assert "below `sender` or `receiver` for this flow, below `hosts` for all flows" in one
    (other,) = [line for line in lines if "initcwnd" in line]
    assert "below `tcp.sender` or `tcp.receiver`" in other


def test_tabs_are_named(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "dumbbell: 1\n\tname: x\n")
    assert "YAML takes no tabs: indent with spaces [E102]" in line


def test_a_missing_file_has_a_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "two-flows.yaml").write_text(MANY, encoding="utf-8")
    for name in ("two-flow.yaml", "two-flows", "twoflows.yml"):
        done = CliRunner().invoke(app, ["run", str(tmp_path / name)])
        assert f"did you mean {tmp_path / 'two-flows.yaml'}?" in done.stderr
    done = CliRunner().invoke(app, ["run", str(tmp_path / "none" / "two-flows.yaml")])
    assert "did you mean" not in done.stderr
