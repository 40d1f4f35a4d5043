"""A policy as C for a kernel acts as the policy does; tests/linux/test_module.py runs it there."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.errors import DumbbellError
from dumbbell.gym import Dense, load_policy, save_policy
from dumbbell.gym.export import kernel_source, main
from tests.plugins.built import INCLUDE, ROOT

POLICY = ROOT / "examples" / "plugins" / "learnt.onnx"
STEP_US = 20_000
#: Calls the module as Linux does: rows of a connection in, windows out.
HARNESS = """
struct row { u32 now_us, delivered, lost, rtt_us, min_rtt_us, in_flight; };
void harness(const struct row *rows, u32 *windows, u32 count)
{
	struct tcp_sock tp = {0};
	struct sock *sk = &tp.inet_conn.sk;
	u32 i;

	tp.snd_cwnd = 10;
	tp.snd_cwnd_clamp = ~0U;
	tp.srtt_us = rows->rtt_us << 3;
	tp.rtt_min.s[0].v = rows->min_rtt_us;
	tp.tcp_mstamp = rows->now_us;
	learnt_ops.init(sk);
	for (i = 1; i < count; i++) {
		struct rate_sample rs = { .rtt_us = rows[i].rtt_us };

		tp.tcp_mstamp = rows[i].now_us;
		tp.delivered = rows[i].delivered;
		tp.lost = rows[i].lost;
		tp.srtt_us = rows[i].rtt_us << 3;
		tp.rtt_min.s[0].v = rows[i].min_rtt_us;
		tp.in_flight_ = rows[i].in_flight;
		learnt_ops.cong_control(sk, CALL &rs);
		windows[i] = tp.snd_cwnd;
	}
}
"""


def compiled(source: str, folder: Path, version: tuple[int, int] = (6, 12)) -> ctypes.CDLL:
    """The module as a library, with the header that stands in for those of Linux."""
    for name in ("linux/module.h", "linux/version.h", "net/tcp.h"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    call = "0, 0," if version >= (6, 10) else ""
    file = folder / "tcp_learnt.c"
    file.write_text(source + HARNESS.replace("CALL", call), encoding="utf-8")
    number = (version[0] << 16) + (version[1] << 8)
    options = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    options += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-O2", "-shared"]
    options += ["-fPIC", f"-DLINUX_VERSION_CODE={number}", "-include", "dumbbell_kernel.h"]
    where = [f"-I{folder}", f"-I{INCLUDE}", "-o", str(folder / "learnt.so"), str(file)]
    command = ["cc", *options, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "learnt.so"))


def connection(random: np.random.Generator, steps: int) -> list[tuple[int, ...]]:
    """An ACK in each step: time, delivered, lost, RTT, minimum RTT, in flight."""
    rows: list[tuple[int, ...]] = [(5000, 0, 0, 40_000, 40_000, 0)]
    delivered = lost = 0
    for number in range(1, steps):
        delivered += int(random.integers(1, 40))
        lost += int(random.integers(0, 5) == 0) * int(random.integers(1, 6))
        now_us = 5000 + (number - 1) * STEP_US + 1 + int(random.integers(STEP_US - 1))
        rtt_us = int(random.integers(40_000, 90_000))
        rows.append((now_us, delivered, lost, rtt_us, 40_000, int(random.integers(1, 90))))
    return rows


def expected(policy: Any, rows: list[tuple[int, ...]], windows: list[int]) -> list[float]:
    """Window after each ACK but the first, before rounding, from the window before."""
    most, before, found = 0, (0, 0), []
    for number in range(1, len(rows) - 1):
        _, delivered, lost, rtt_us, min_us, in_flight = rows[number]
        new, gone = delivered - before[0], lost - before[1]
        before, most = (delivered, lost), max(most, new)
        bdp = most * min_us / STEP_US
        values = {
            "throughput": new / most,
            "rtt": rtt_us / min_us,
            "min_rtt": 1.0,
            "loss_rate": gone / (new + gone),
            "in_flight": in_flight / bdp,
            "cwnd": windows[number] / bdp,
        }
        (x,) = policy.act([min(values[name], 100.0) for name in policy.observations])
        found.append(min(max(windows[number] * 10**x, 1.0), 1e5))
    return found


@pytest.mark.parametrize("version", [(6, 1), (6, 12), (7, 3)])
def test_the_module_sets_the_windows_of_the_policy(
    version: tuple[int, int], tmp_path: Path
) -> None:
    policy = load_policy(POLICY)
    library = compiled(kernel_source(policy), tmp_path, version)
    for seed in range(20):
        rows = connection(np.random.default_rng(seed), 200)
        given = np.array(rows, np.uint32)
        windows = np.zeros(len(rows), np.uint32)
        library.harness(
            given.ctypes.data_as(ctypes.c_void_p),
            windows.ctypes.data_as(ctypes.c_void_p),
            len(rows),
        )
        wanted = expected(policy, rows, windows.tolist())
        # Row i + 1 shows what the step that row i ended has set; whole packets, rounded down.
        for window, real in zip(windows[2:].tolist(), wanted, strict=True):
            assert math.floor(real * 0.998 - 0.02) <= window <= math.floor(real * 1.002 + 0.02)


def test_a_long_pause_ends(tmp_path: Path) -> None:
    library = compiled(kernel_source(load_policy(POLICY)), tmp_path)
    rows = [*connection(np.random.default_rng(1), 50), (4_000_000_000, 9999, 0, 41_000, 40_000, 3)]
    given, windows = np.array(rows, np.uint32), np.zeros(len(rows), np.uint32)
    library.harness(
        given.ctypes.data_as(ctypes.c_void_p), windows.ctypes.data_as(ctypes.c_void_p), len(rows)
    )
    assert 1 <= windows[-1] <= 100_000


def test_what_a_kernel_has_not_is_refused(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"actions": ["cwnd_factor"], "observations": ["rtt"], "step": "20 ms"}
    path = tmp_path / "policy.onnx"
    good = [Dense([[1.0]], [0.0], "relu")]
    for layers, change, words in [
        (good, {"actions": ["cwnd"]}, "found cwnd; allowed in a kernel: cwnd_factor"),
        (good, {"normalised": False}, "normalised: found False"),
        (good, {"step": "1 rtt"}, "step: found rtt"),
        (good, {"step": "2 s"}, "found 2000000000 ns; allowed in a kernel: 1 ms to 1 s"),
        (good, {"observations": ["rtt_gradient"]}, "observations: found rtt_gradient"),
        ([Dense([[4e4]], [0.0])], {}, "too large for integers"),
        ([Dense([[1.0]] * 33, [0.0] * 33), Dense([[1.0] * 33], [0.0])], {}, "found 33 values"),
    ]:
        save_policy(path, layers, **choices | change)
        with pytest.raises(DumbbellError, match=words):
            kernel_source(load_policy(path))
    save_policy(path, good, **choices)
    compiled(kernel_source(load_policy(path)), tmp_path)
    with pytest.raises(DumbbellError, match="at most 15 small letters"):
        kernel_source(load_policy(path), "No Name")


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tcp_mine.c"
    main([str(POLICY), "--c", str(file), "--name", "mine"])
    text = file.read_text(encoding="utf-8")
    assert text.startswith("// SPDX-License-Identifier: GPL-2.0\n") and '.name\t\t= "mine"' in text
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "none.onnx")])
    assert ended.value.code == 2 and "No such file" in capsys.readouterr().err
