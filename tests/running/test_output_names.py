"""Names of files that runs write: distinct, short enough, refused before the runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from tests.running.test_output import call

pytestmark = pytest.mark.slow

CAPTURED = """\
dumbbell: 1
name: capcoll
template: {dumbbell: {pairs: 1, rate: 5 Mbit/s, rtt: 20 ms, buffer: 50 packets}}
flows: [{from: s1, to: d1, tcp: $cc}]
taps: [{name: "a b", at: r1, link: bottleneck}, {name: "a/b", at: r2, link: bottleneck}]
sampling: {capture: true, hops: {to: 1 s}}
duration: 1 s
factors: {cc: [{label: "A/b", value: reno}, {label: "a b", value: cubic}]}
"""


@pytest.mark.parametrize("per_tap", [False, True])
def test_no_capture_overwrites_another(per_tap: bool, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CAPTURED)
    for folder in ("c", "again"):
        dumbbell.run(tmp_path / "e.yaml", captures=tmp_path / folder, per_tap=per_tap)
    names = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert len({name.casefold() for name in names}) == (4 if per_tap else 2)
    contents = {name: (tmp_path / "c" / name).read_bytes() for name in names}
    assert len(set(contents.values())) == len(names)
    assert contents == {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}


def test_no_trace_overwrites_another(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CAPTURED)
    dumbbell.run(tmp_path / "e.yaml", traces=tmp_path / "t")
    assert len(list((tmp_path / "t").glob("*.tr"))) == 2
    assert len(list((tmp_path / "t").glob("*.tr.json"))) == 2


def test_long_names_make_file_names_that_fit(tmp_path: Path) -> None:
    """The name has 400 bytes, the labels differ in their last letter."""
    long = CAPTURED.replace("name: capcoll", f"name: {'é' * 200}").replace('"A/b"', "é" * 150 + "a")
    (tmp_path / "e.yaml").write_text(long.replace('label: "a b"', f"label: {'é' * 150}b"))
    dumbbell.run(tmp_path / "e.yaml", captures=tmp_path / "c", traces=tmp_path / "t", per_tap=True)
    assert len(list((tmp_path / "c").iterdir())) == 4
    assert len(list((tmp_path / "t").iterdir())) == 4


@pytest.mark.parametrize(
    "words",
    [
        ["report", "store", "-o", "x.pdf"],
        ["gate", "cubic", "cubic", "-o", "x.json"],
        ["animate", "e.yaml", "-o", "x.mp4"],
        ["study", "run", "rfc9743", "--cc", "bbr", "-o", "x.pdf"],
        ["playground", "e.yaml", "-o", "x.md"],
    ],
)
def test_a_page_has_no_name_of_another_format(words: list[str], tmp_path: Path) -> None:
    file = tmp_path / words[-1]
    result = call(*words[:-1], file)
    assert result.exit_code == 2 and not file.exists()
    told = " ".join(result.output.replace("│", " ").split())
    assert f"a page is HTML, as x.html; found {file.name}" in told


@pytest.mark.parametrize("option", ["--json", "--captures", "--traces"])
def test_a_place_that_takes_nothing_is_refused_before_the_runs(option: str, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CAPTURED)
    (tmp_path / "file").write_text("")
    result = call(
        "run", tmp_path / "e.yaml", "--store", tmp_path / "s", option, tmp_path / "file" / "x"
    )
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("cut", ["middle of a block", "length of zero", "no interfaces", "header"])
def test_a_damaged_capture_is_told_by_name(cut: str, tmp_path: Path) -> None:
    from dumbbell.capture.kept import write_captures
    from dumbbell.errors import StoreError
    from dumbbell.store import Store

    (tmp_path / "e.yaml").write_text(CAPTURED)
    results = dumbbell.run(tmp_path / "e.yaml", store=tmp_path / "s")
    kept = next((tmp_path / "s" / "runs").glob("*.pcapng"))
    data = kept.read_bytes()
    first = int.from_bytes(data[4:8], "little")
    damaged = {
        "middle of a block": data[:-5],
        "length of zero": data[:first] + b"\1\0\0\0" + bytes(8) + data[first:],
        "no interfaces": data[:first] + b"\6\0\0\0\x20\0\0\0" + bytes(20) + b"\x20\0\0\0",
        "header": data[:6],
    }
    kept.write_bytes(damaged[cut])
    with (
        Store(tmp_path / "s", write=False) as store,
        pytest.raises(StoreError, match=r"\.pcapng: damaged: no whole capture"),
    ):
        write_captures(store, results, tmp_path / "c", per_tap=True)
