"""Wrong and hostile scripts: one message each, with file and line; the others are played."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.packetdrill import guest

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

LISTENS = (
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 4) = 0\n"
)
CONNECTED = LISTENS + (
    "+.1 < S 0:0(0) win 32000 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n"
    "+.05 < . 1:1(0) ack 1 win 400\n+0 accept(3, ..., ...) = 4\n"
)
#: Script, line at which it fails, message.
SCRIPTS: dict[str, tuple[str, int, str]] = {
    "open-code": (LISTENS + "+0 %{ assert True\n", 4, "`%{` has no `}%`"),
    "wrong-ack": (
        CONNECTED.replace("ack 1 <...>", "ack 2 <...>"), 5,
        "acknowledgment number: expected 2, sent 1",
    ),
    "wrong-time": (CONNECTED.replace("+0 > S.", "+.5 > S."), 5, "is expected at 0.600"),
    "unknown-call": (LISTENS + "+0 frobnicate(3) = 0\n", 4, "frobnicate is not known"),
    "unknown-option": ("--frobnicate=1\n" + LISTENS, 1, "--frobnicate is not known"),
    "blocks": (LISTENS + "+0 accept(3, ..., ...) = 4\n", 4, "did not return within 600 s"),
    "blocks-told": (LISTENS + "+0...1 accept(3, ..., ...) = 4\n", 4, "did not return"),
    "loop": (LISTENS + "+0 `while true; do :; done`\n", 4, "did not finish within 15 s"),
    "loop-first": ("\n`\nwhile true; do :; done`\n" + LISTENS, 2, "did not finish within 15 s"),
    "forks": (
        LISTENS + "+0 `ulimit -u 50; f() { f | f & }; f; while :; do :; done`\n", 4,
        "did not finish",
    ),
    "root": (LISTENS + "+0 `echo x > /etc/passwd`\n", 4, "Read-only file system"),
    "host": (LISTENS + "+0 `echo x > evil`\n", 4, "Read-only file system"),
    "panic": (LISTENS + "+0 `echo c > /proc/sysrq-trigger`\n", 4, "the guest died: Kernel panic"),
    "fills": (LISTENS + "+0 `head -c 9000000000 /dev/zero > /tmp/x`\n", 4, "No space left"),
    "noise": (LISTENS + "+0 `head -c 90000 /dev/zero >&2; false`\n", 4, "exit status: 1"),
    "megabyte": ("0 `" + "a" * 1_000_000 + "`\n", 1, "Argument list too long"),
    "garbage": ("x" * 1_000_000, 1, "expected a time in seconds"),
    "deep": (LISTENS + "+0 write(" + "[" * 300_000, 4, "brackets inside each other"),
    "deep-code": (CONNECTED + "+0 %{ " + "1+" * 400_000 + "1 }%\n", 8, "recursion"),
    "negative": (CONNECTED + "+0 write(4, ..., -1) = 1\n", 8, "-1 bytes are not between"),
    "huge": (CONNECTED + "+0 write(4, ..., 300000000) = 1\n", 8, "are not between 0 and"),
    "backwards": (CONNECTED + "+.2~+.1 > . 1:1(0) ack 1\n", 8, "backwards"),
    "descriptor": (CONNECTED + "+0 write(77, ..., 1) = 1\n", 8, "no descriptor 77"),
    "mtu": ("--mtu=0\n" + LISTENS, 1, "this is no value of --mtu"),
}  # fmt: skip


def test_each_has_one_message_and_the_good_one_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "LIMIT_S", 15.0)
    for name, (text, _, _) in SCRIPTS.items():
        (tmp_path / f"{name}.pkt").write_text(text)
    (tmp_path / "good.pkt").write_text(CONNECTED)
    result = CliRunner().invoke(
        app, ["packetdrill", str(tmp_path), "--workers", "2", "--tap", str(tmp_path / "tap")]
    )
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    told = [line for line in result.stdout.splitlines() if line.startswith("✗ ")]
    assert told.pop() == f"✗ 1 of {len(SCRIPTS) + 1} scripts passed on linux"
    found = {line.split(".pkt", 1)[0].removeprefix("✗ "): line for line in told}
    for name, (_, line, says) in SCRIPTS.items():
        assert found[name].startswith(f"✗ {name}.pkt:{line}: "), found[name]
        assert says in found[name], found[name]
        assert len(found[name]) < 800
        assert found[name].isprintable()
    at = sorted([*SCRIPTS, "good"]).index("good") + 1
    assert f"\nok {at} - good.pkt\n" in (tmp_path / "tap").read_text()
    assert not (tmp_path / "evil").exists()


def test_a_good_script_gives_exit_code_0(tmp_path: Path) -> None:
    (tmp_path / "good.pkt").write_text(CONNECTED)
    result = CliRunner().invoke(app, ["packetdrill", str(tmp_path / "good.pkt"), "--times"])
    assert result.exit_code == 0, result.output
    assert "  line 5: sent at 0.10" in result.stdout
    assert result.stdout.endswith("✓ 1 of 1 script passed on linux\n")
