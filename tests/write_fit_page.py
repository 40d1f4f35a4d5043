"""Judges `dumbbell fit` on drawn transfers, and writes the tables of docs/fit.md.

    python -m tests.write_fit_page                       # 500 captures of the simulator
    python -m tests.write_fit_page --engine linux:7.3 --cases 100
    python -m tests.write_fit_page --algorithms --cases 100      # both tables

`--seed` is the seed of the first case; anyone can take other cases.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dumbbell.fit.path import estimate
from tests.fit.cases import ACCESS, Case, draw, suits_linux
from tests.fit.judge import Judged, judged, read
from tests.fit.kernel import captured_on
from tests.fit.told import Told, algorithm_table, told
from tests.helpers import ROOT

PAGE = ROOT / "docs/fit.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Judges the cases, prints the table, and writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1_000_000)
    parser.add_argument("--engine", default="sim")
    parser.add_argument("--algorithms", action="store_true", help="rank algorithms, too (slow)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--print", action="store_true", help="do not write the page")
    parser.add_argument("--each", action="store_true", help="say of each case what is true")
    wanted = parser.parse_args(arguments)
    found, ranked = judge_all(wanted)
    command = f"python -m tests.write_fit_page --cases {len(found)} --seed {wanted.seed}"
    command += "" if wanted.engine == "sim" else f" --engine {wanted.engine}"
    command += " --algorithms" * wanted.algorithms
    tables = {"estimates": table(found)}
    if wanted.algorithms:
        tables["algorithms"] = algorithm_table(ranked)
    for name, rows in tables.items():
        lines = [f"{len(found)} captures: `{command}`", "", *rows]
        sys.stdout.write("\n".join(lines) + "\n")
        if not wanted.print:
            write(PAGE, f"{name} {wanted.engine}", lines)


def judge_all(wanted: argparse.Namespace) -> tuple[list[Judged], list[Told]]:
    """Judges drawn transfers; those that an engine cannot run are drawn again."""
    found: list[Judged] = []
    ranked: list[Told] = []
    begin, number, engine = time.monotonic(), wanted.seed, wanted.engine
    with TemporaryDirectory() as folder:
        while len(found) < wanted.cases and time.monotonic() - begin < 60 * wanted.minutes:
            case = draw(number, linux=engine != "sim")
            number += 1
            if engine != "sim" and not suits_linux(case):
                continue
            file = Path(folder) / "case.pcapng"
            file.write_bytes(_capture(case, engine))
            seen = read(str(file))
            path = estimate(seen)
            found.append(judged(case.truth, seen, path))
            if wanted.algorithms:
                ranked.append(told(case.truth, seen, path))
            if wanted.each:
                sys.stderr.write(_each(number - 1, found[-1], ranked[-1:]) + "\n")
            if len(found) % 10 == 0:
                seconds = time.monotonic() - begin
                sys.stderr.write(f"{len(found)} of {wanted.cases}, {seconds:.0f} s\n")
    return found, ranked


def _each(seed: int, one: Judged, ranked: Sequence[Told]) -> str:
    """What is true of a case, and what was said."""
    truth = one.truth
    errors = (one.rtt_error, one.rate_error, one.limit_error)
    said = ", ".join("–" if error is None else f"{error:+.1%}" for error in errors)
    line = (
        f"{seed} {truth.algorithm}, {truth.path}, {truth.tap}: errors of base RTT, rate, limit "
        f"{said}; queue {truth.queue}: {one.queue}; factor {one.true_factor}: {one.factor}"
    )
    return line + "".join(
        f"; place {each.place}{'' if each.told else ', not told'}, {each.probability:.2f} for "
        f"{' or '.join(each.first)}"
        for each in ranked
    )


def _capture(case: Case, engine: str) -> bytes:
    return case.capture() if engine == "sim" else captured_on(case, engine)


def table(found: Sequence[Judged]) -> list[str]:
    """Accuracy of the estimates, on plain paths and on access links."""
    plain = [one for one in found if one.truth.path not in ACCESS]
    access = [one for one in found if one.truth.path in ACCESS]
    lines = [
        "| quantity | goal | plain paths | access links | all |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, goal, rule in _ROWS:
        shares = [_share(rule(one) for one in group) for group in (plain, access, list(found))]
        lines.append(f"| {name} | {goal} | {' | '.join(shares)} |")
    return lines


def _within(error: float | None, most: float) -> bool | None:
    return None if error is None else abs(error) <= most


def _base_rtt(one: Judged) -> bool | None:
    return one.rtt_error is not None and abs(one.rtt_error) <= 0.03


_ROWS = (
    ("base RTT is said: interval within ±3 %", "–", lambda one: one.rtt_said),
    ("base RTT within 3 %, if said", "95 %",
     lambda one: _within(one.rtt_error, 0.03) if one.rtt_said else None),
    ("base RTT within 3 %, said or not", "95 %", _base_rtt),
    ("interval of the base RTT holds it", "–", lambda one: one.rtt_held),
    ("rate is said, not only a bound", "–", lambda one: one.rate_error is not None),
    ("rate within 3 %, if said", "95 %", lambda one: _within(one.rate_error, 0.03)),
    ("queue limit is said, not only a bound", "–",
     lambda one: None if one.truth.limit_packets is None else one.limit_error is not None),
    ("queue limit within 20 %, if said", "80 %", lambda one: _within(one.limit_error, 0.2)),
    ("bounds hold", "–", lambda one: one.bounds_hold),
    ("kind of queue is said", "–",
     lambda one: None if one.truth.queue is None else one.queue != "unknown"),
    ("kind of queue right, if said", "80 %",
     lambda one: None if one.truth.queue is None or one.queue == "unknown"
     else one.queue == one.truth.queue),
    ("limiting factor right", "95 %",
     lambda one: None if one.true_factor is None else one.factor == one.true_factor),
)  # fmt: skip


def _share(right: Iterable[bool | None]) -> str:
    known = [one for one in right if one is not None]
    if not known:
        return "–"
    return f"{100 * sum(known) / len(known):.0f} % of {len(known)}"


def write(page: Path, name: str, lines: Sequence[str]) -> None:
    """Writes lines between the markers `<!-- name -->` and `<!-- end name -->`."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page}: lacks the markers of {name}")
    page.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
