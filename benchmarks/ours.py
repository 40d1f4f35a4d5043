"""Measurements of this project's programs, through `child.py`."""

from __future__ import annotations

from benchmarks.cases import ACCESS_BPS, Case
from benchmarks.measure import child
from benchmarks.results import OURS, Run


def imports_bytes() -> int:
    """Peak memory of a process that only imports what a run needs."""
    return min(child("imports").peak_bytes for _ in range(3))


def simulate(case: Case, imports: int, *, access: bool = False, scale: float = 1) -> Run:
    """Runs a scenario once.

    Args:
        case: The scenario.
        imports: What `imports_bytes` found.
        access: With links of hosts that serialise.
        scale: Factor of the simulated time.

    Raises:
        Failed: The process failed.
    """
    words = ["--scale", str(scale)] + (["--access", str(ACCESS_BPS)] if access else [])
    found = child("run", case.file, *words)
    setup_s = child("setup", case.file).answer["setup_s"] if case.has_setup else None
    answer = found.answer
    return Run(
        case=case.name,
        engine=OURS,
        access=access,
        cpu_s=answer["cpu_s"],
        process_s=found.cpu_s,
        packets=answer["packets"],
        goodput_bps=answer["goodput_bps"],
        simulated_s=answer["simulated_s"],
        peak_bytes=found.peak_bytes,
        above_bytes=found.peak_bytes - imports,
        reading_s=answer["reading_s"],
        setup_s=setup_s,
    )


def calls() -> dict[str, float]:
    """Time of a call from Python, and the simulation in it: H."""
    answer = child("call").answer
    return {"call_s": answer["wall_s"], "call_simulating_s": answer["simulating_s"]}


def starts() -> dict[str, float]:
    """Times of whole processes: I."""
    return dict(child("import").answer)


def grid() -> dict[str, float]:
    """Wall-clock time of study 1's grid on two workers: J."""
    answer = child("grid").answer
    return {
        "grid_s": answer["wall_s"],
        "grid_simulating_s": answer["simulating_s"],
        "grid_runs": answer["runs"],
    }
