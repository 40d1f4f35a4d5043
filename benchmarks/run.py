"""Speed and memory of the simulator, alone or beside its peers: `make bench [PEERS=1]`.

Every measurement is a process of its own. Runs of all simulators alternate, and the fastest of
each counts. Prints tables and writes `results.json`. See docs/performance.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ours, plugins, simulators
from benchmarks.cases import CASES, RESULTS, Case, Network
from benchmarks.measure import Failed
from benchmarks.results import OURS, Run, as_row, fastest, machine, write
from benchmarks.simulators import Peer
from benchmarks.table import header, judgements, row, warning

#: A peer is not run again on a scenario once its runs took so long together.
LONG_S = 15
OTHERS: dict[str, tuple[str, Callable[[], dict[str, float]]]] = {
    "H": ("calls from Python", ours.calls),
    "I": ("starts", ours.starts),
    "J": ("study 1's grid", ours.grid),
}


def measured(
    case: Case, peers: Sequence[Peer], imports: int, options: argparse.Namespace
) -> list[Run]:
    """Runs a scenario on all simulators in turn, and prints the fastest run of each."""
    found: dict[tuple[str, bool], list[Run]] = {}
    rounds = options.rounds or case.rounds
    # Links of a fat tree serialise anyway.
    dumbbell = isinstance(case.network, Network)
    for number in range(rounds):
        for access in (False, True):
            if not access or (peers and dumbbell):
                run = ours.simulate(case, imports, access=access, scale=options.scale)
                found.setdefault((run.engine, access), []).append(run)
            for peer in peers:
                before = found.get((peer.name, access), [])
                long = sum(run.cpu_s for run in before) > LONG_S
                if peer.runs(case, access=access) and len(before) == number and not long:
                    found.setdefault((peer.name, access), []).append(
                        simulators.simulate(
                            peer, case, access=access, scale=options.scale, limit_s=options.limit
                        )
                    )
    best = {key: fastest(runs) for key, runs in found.items()}
    for (_, access), run in best.items():
        print(row(run, best[(OURS, access)]), flush=True)
    for run in best.values():
        if not isinstance(case.network, Network) or options.scale != 1:
            continue
        if said := warning(run, case.network.rate_bps):
            print(said)
    return list(best.values())


def scenarios(peers: Sequence[Peer], options: argparse.Namespace) -> list[Run]:
    """Measures the chosen scenarios."""
    imports = ours.imports_bytes()
    print(f"memory of the imports: {imports / 1e6:.0f} MB\n\n{header()}")
    found: list[Run] = []
    for case in CASES:
        if case.name not in options.only:
            continue
        if not case.file.exists():
            print(f"{case.name}   left out: there is no {case.file.name}")
            continue
        try:
            with_peers = peers if case.network else []
            found += measured(case, with_peers, imports, options)
        except Failed as error:
            print(f"{case.name}   left out: {error}")
    return found


def others(only: Sequence[str]) -> dict[str, Any]:
    """Measures what is no scenario."""
    found: dict[str, Any] = {}
    for name, (title, measure) in OTHERS.items():
        if name in only:
            print(f"{name}   {title}", flush=True)
            try:
                found |= measure()
            except Failed as error:
                print(f"{name}   left out: {error}")
    return found


def chosen(text: str) -> list[str]:
    """Letters of benchmarks: `A,B`."""
    known = [case.name for case in CASES] + list(OTHERS)
    letters = [letter.strip().upper() for letter in text.split(",") if letter.strip()]
    for letter in letters:
        if letter not in known:
            raise argparse.ArgumentTypeError(f"no benchmark {letter}; there are {', '.join(known)}")
    return letters


def parsed() -> argparse.Namespace:
    """The command line."""
    everything = ",".join([case.name for case in CASES] + list(OTHERS))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", type=chosen, metavar="A,B", help="only these benchmarks")
    parser.add_argument("--peers", action="store_true", help="also ns-2, ns-3 and htsim on A to D")
    parser.add_argument(
        "--htsim", type=Path, metavar="FOLDER", help="csg-htsim's sources; without: no htsim"
    )
    parser.add_argument(
        "--limit", type=float, default=100, metavar="S", help="processor time of a peer's run [100]"
    )
    parser.add_argument("--plugin", action="store_true", help="only CUBIC as a plug-in, on A to C")
    parser.add_argument("--rounds", type=int, help="runs of each scenario [2 to 9]")
    parser.add_argument(
        "--scale", type=float, default=1, help="factor of simulated times, to try things out"
    )
    parser.add_argument(
        "--output", type=Path, help="file of results [results.json, if nothing is left out]"
    )
    options = parser.parse_args()
    whole = options.only is None and options.scale == 1
    options.only = options.only or chosen(everything)
    options.output = options.output or (RESULTS if whole else None)
    return options


def main() -> None:
    """Measures, prints, writes."""
    options = parsed()
    if options.plugin:
        plugins.measured(plugins.CASES, options.rounds or 5, options.scale)
        return
    peers = list(simulators.available(options.htsim)) if options.peers else []
    found = scenarios(peers, options)
    sections = {
        "machine": machine(),
        "peers": {peer.name: peer.title for peer in peers},
        "runs": [as_row(run) for run in found],
        "others": others(options.only),
    }
    if options.output is None:
        return
    results = write(options.output, **sections)
    print("\n" + "\n".join(judgements(results)))
    print(f"\nwritten: {options.output}")


if __name__ == "__main__":
    main()
