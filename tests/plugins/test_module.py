"""A module of Linux in C on the simulator: the same packets, parameters, and what goes wrong."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.engines.linux.kernel import kernels_folder
from dumbbell.errors import DumbbellError, EngineError, ExperimentError
from dumbbell.starter.project import write_project
from tests.plugins.built import same_tables

TEXT = """\
dumbbell: 1
name: module
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: BUFFER}}
plugins: {mine: {file: FILE, parameters: {PARAMETERS}}}
flows:
  - {from: s1, to: d1, tcp: {congestion_control: $cc, fq: false}}
  - {from: s2, to: d2, tcp: reno, start: 1 s}
duration: 15 s
sampling: 10 ms
factors: {cc: CC}
"""
#: Linux's own that the built-ins follow to the bit. dctcp needs the receiver's half, and yeah
#: functions of another module.
OF_LINUX = (
    "bbr", "bic", "cdg", "cubic", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
    "vegas", "veno", "westwood",
)  # fmt: skip


def text(file: Path, cc: list[str], parameters: str = "", buffer: str = "0.5 BDP") -> str:
    levels = f"[{', '.join(cc)}]"
    filled = TEXT.replace("FILE", str(file)).replace("PARAMETERS", parameters)
    return filled.replace("BUFFER", buffer).replace("CC", levels)


def run(folder: Path, *given: Any, **more: Any) -> dumbbell.Results:
    (folder / "e.yaml").write_text(text(*given, **more), encoding="utf-8")
    return dumbbell.run(folder / "e.yaml")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The module of `dumbbell new congestion-control mine --in kernel`."""
    write_project("mine", "kernel", tmp_path / "project")
    return tmp_path / "project" / "tcp_mine.c"


def own_source(name: str, kind: str = "c", patience_s: float = 60) -> bytes:
    """A module of Linux's own, or its header, from the tree that `kernel build --keep` left.

    While a kernel is built, the tree is elsewhere.
    """
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        for pattern in ("trees/*", ".build/linux"):
            for file in kernels_folder().glob(f"{pattern}/net/ipv4/tcp_{name}.{kind}"):
                with contextlib.suppress(FileNotFoundError):
                    return file.read_bytes()
        time.sleep(0.2)
    raise AssertionError("no tree is kept: dumbbell kernel build --keep")


@pytest.mark.kernel
@pytest.mark.parametrize("name", OF_LINUX)
@pytest.mark.parametrize("buffer", ["0.2 BDP", "2 BDP"])
def test_a_module_of_linux_sends_the_packets_of_the_built_in(
    name: str, buffer: str, tmp_path: Path
) -> None:
    file = tmp_path / f"tcp_{name}.c"
    file.write_bytes(own_source(name))
    if name == "vegas":
        (tmp_path / "tcp_vegas.h").write_bytes(own_source("vegas", kind="h"))
    results = run(tmp_path, file, ["mine", name], buffer=buffer)
    assert results.flows["retransmitted_packets"].sum() > 0 or buffer == "2 BDP"
    same_tables(results, "mine", name)


def test_parameters_are_the_modules_own(template: Path, tmp_path: Path) -> None:
    kept = {}
    for beta in ("", "beta: 512", "beta: 900"):
        flows = run(tmp_path, template, ["mine", "reno"], beta).flows
        mine = flows.filter(pl.col("cc") == "mine")
        reno = flows.filter(pl.col("cc") == "reno")
        kept[beta] = [one["delivered_bytes"].to_list() for one in (mine, reno)]
    assert kept[""][0] == kept[""][1] == kept["beta: 512"][0]
    assert kept["beta: 900"][0] != kept["beta: 900"][1] == kept[""][1]
    assert kept["beta: 900"][0][0] > kept[""][0][0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("gamma: 1", "parameter gamma: the module has none of this name; it has beta"),
        ("beta: 0.5", "parameter beta: a whole number"),
        ("beta: 3000000000", "parameter beta: a whole number that its variable holds"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(
    parameters: str, words: str, template: Path, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match=words):
        run(tmp_path, template, ["mine"], parameters)


def test_a_module_has_one_value_for_all_flows(template: Path, tmp_path: Path) -> None:
    spelled = text(template, ["mine"], "beta: 700")
    other = f"plugins: {{other: {{file: {template}, parameters: {{beta: 900}}}}, mine"
    spelled = spelled.replace("plugins: {mine", other).replace("tcp: reno", "tcp: other")
    (tmp_path / "e.yaml").write_text(spelled, encoding="utf-8")
    with pytest.raises(EngineError, match="one value of it for all flows of a run, as in Linux"):
        dumbbell.run(tmp_path / "e.yaml")


RATE = """\
static void mine_control(struct sock *sk, FORM const struct rate_sample *rs)
{
	if (rs->acked_sacked && tcp_min_rtt(tcp_sk(sk)) < ~0U)
		tcp_snd_cwnd_set(tcp_sk(sk), 20 + (rs->losses > 0));
}

static struct tcp_congestion_ops mine"""


def test_a_form_of_older_kernels_is_known(template: Path, tmp_path: Path) -> None:
    """`cong_control` got two arguments more in Linux 6.10."""
    source = template.read_text(encoding="utf-8").replace(
        ".cong_avoid\t= mine_cong_avoid", ".cong_control\t= mine_control"
    )
    found = []
    for form in ("", "u32 ack, int flag,"):
        rate = RATE.replace("FORM", form)
        template.write_text(source.replace("static struct tcp_congestion_ops mine", rate), "utf-8")
        found.append(run(tmp_path, template, ["mine"]).flows["delivered_bytes"].to_list())
    assert found[0] == found[1] and 8e6 < found[0][0] < 12e6


#: In `cong_avoid`: `bytes_acked` counts the SYN, as in Linux; a false one ends the run.
WORDS = """\
	_Static_assert(BITS_PER_TYPE(u64) == 64 && S64_MIN < LONG_MIN + 1 && INT_MIN < S16_MIN, "");
	u32 less = 7, more = 9;
	u64 far = 7;

	if (tp->bytes_acked != 1 + (u64)tp->snd_una || tp->bytes_acked < 1449)
		tp->snd_cwnd = 0;
	/* An unsigned difference counts as signed (bbr_lt_bw_interval_done). */
	if (abs(less - more) != 2 || abs(far - more) != 2 || abs(-3) != 3 || abs_diff(less, more) != 2)
		tp->snd_cwnd = 0;
	if (roundup(less, 4) != 8 || round_down(more, 8) != 8 || mult_frac(more, 2, 4) != 4)
		tp->snd_cwnd = 0;
	pr_emerg(KERN_ALERT "%u\\n", less);"""


def test_words_of_published_modules_are_known(template: Path, tmp_path: Path) -> None:
    source = template.read_text(encoding="utf-8")
    line = "\tif (!tcp_is_cwnd_limited(sk))"
    assert source.count(line) == 1
    template.write_text(source.replace(line, f"{WORDS}\n{line}"), encoding="utf-8")
    run(tmp_path, template, ["mine"])


FIRST = """\
static void mine_acked(struct sock *sk, const struct ack_sample *sample)
{
	bool early = ktime_get() < 40000000 || tcp_jiffies32 < 40 || !tcp_sk(sk)->srtt_us;

	((struct mine *)inet_csk_ca(sk))->losses += early ? 100 : 1;
}

static struct tcp_congestion_ops mine"""
#: In `init`, in the place of its line: a window of 0 ends the run.
ONCE = """\
if (ca->losses != 1)
		tcp_sk(sk)->snd_cwnd = 0;"""


def test_the_syn_is_acknowledged_at_its_time(template: Path, tmp_path: Path) -> None:
    """Linux calls `pkts_acked` for the SYN, after an RTT of 40 ms, before `init`."""
    source = template.read_text(encoding="utf-8")
    for old, new in (
        ("static struct tcp_congestion_ops mine", FIRST),
        (".owner\t", ".pkts_acked\t= mine_acked,\n\t.owner\t"),
        ("ca->losses = 0;", ONCE),
    ):
        assert source.count(old) == 1
        source = source.replace(old, new)
    template.write_text(source, encoding="utf-8")
    run(tmp_path, template, ["mine"])


def test_headers_beside_it_are_part_of_it(template: Path, tmp_path: Path) -> None:
    header = template.with_name("half.h")
    header.write_text("#define HALF 512\n", encoding="utf-8")
    source = template.read_text(encoding="utf-8")
    source = source.replace("#include <net/tcp.h>", '#include <net/tcp.h>\n#include "half.h"')
    template.write_text(source.replace("= 512", "= HALF"), encoding="utf-8")
    store = tmp_path / "store"
    (tmp_path / "e.yaml").write_text(text(template, ["mine"]), encoding="utf-8")
    first = dumbbell.run(tmp_path / "e.yaml", store=store).flows
    header.write_text("#define HALF 900\n", encoding="utf-8")
    second = dumbbell.run(tmp_path / "e.yaml", store=store).flows
    assert not first["delivered_bytes"].equals(second["delivered_bytes"])


#: What is written in the place of a line of the template, and the words of the message.
BAD = {
    "syntax": ("ca->losses++;", "ca->losses++", r"tcp_mine\.c:\d+:\d+: error: expected ‘;’"),
    "field": ("ca->losses++;", "tcp_sk(sk)->retrans_out++;", "error: .* no member named"),
    "function": ("ca->losses++;", "tcp_output_now(sk);", "error: implicit declaration"),
    "external": (
        "static void mine_init",
        "void elsewhere(void); static void other(void) { elsewhere(); }\n"
        "void (*seen)(void) = other; static void mine_init",
        "not in the simulator: elsewhere",
    ),
    "no init": ("module_init(mine_register);", "", "it has no module_init"),
    "registers nothing": (
        "return tcp_register_congestion_control(&mine);",
        "return 0;",
        "its module_init registers no congestion control that has ssthresh, undo_cwnd",
    ),
    "without undo": (
        "tcp_reno_undo_cwnd",
        "NULL",
        "its module_init registers no congestion control",
    ),
    "state": ("u32 losses;", "u64 losses[100];", "error: static assertion failed"),
    "type": ("ca->losses++;", "ca = sk->sk_state;", "error: .* makes pointer from integer"),
    "header": ('"GPL"', '"GPL")\n#include "nothing.h"\nMODULE_LICENSE("GPL"', "fatal error: noth"),
    "endless": ('"GPL"', '"GPL")\n#include "tcp_mine.c"\nMODULE_LICENSE("GPL"', "8 deep"),
    "device": ('"GPL"', '"GPL")\n#include "/dev/zero"\nMODULE_LICENSE("GPL"', "memory"),
    "large": ("mine\n */", "", "more than 1048576 bytes"),
    "crash": ("ca->losses++;", "*(volatile int *)8 = 1;", "ended by SIGSEGV"),
    "zero": ("tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);", "tp->snd_cwnd = 0;", "cwnd is 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_module_that_goes_wrong_is_told(name: str, template: Path, tmp_path: Path) -> None:
    old, new, words = BAD[name]
    source = template.read_text(encoding="utf-8")
    if name == "large":
        source += f"/*{'x' * (1 << 20)}*/\n"
    else:
        assert source.count(old) >= 1
        source = source.replace(old, new)
    template.write_text(source, encoding="utf-8")
    with pytest.raises(DumbbellError, match=words) as raised:
        run(tmp_path, template, ["mine", "reno"])
    if isinstance(raised.value, ExperimentError):
        assert raised.value.line == 4 and raised.value.code == "E507"
    assert "/dumbbell/plugins" not in str(raised.value)


def test_without_a_compiler_it_says_so(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.plugins import compile as subject

    with template.open("a") as file:
        file.write("/* another text, that no test has loaded */\n")
    subject._compiler.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ExperimentError, match="there is no cc; on Debian: apt-get install gcc"):
        run(tmp_path, template, ["mine"])
    subject._compiler.cache_clear()
