"""`dumbbell check`: expectations of an experiment file, and a baseline, as test cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dumbbell import units
from dumbbell.codes import Code
from dumbbell.compare import baseline as baselines
from dumbbell.compare.baseline import LEAST_TESTED, Baseline, Change, Quantity
from dumbbell.compare.expectations import check, refuse_impossible
from dumbbell.compare.junit import Case, xml
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.experiment.load import load
from dumbbell.results import Results

#: Quantities that pass are counted; of those that do not, this many are printed.
_MOST_LINES = 40


def share_of(text: str) -> float:
    """Value of `--tolerance`. Raises `DumbbellError`."""
    try:
        return units.share(text)
    except units.QuantityError as error:
        raise DumbbellError(f"--tolerance: {error.alone()}") from None


class Checking:
    """Checks of one file: read before the runs; lines and test cases are added afterwards."""

    def __init__(
        self,
        file: Path,
        chosen: Mapping[str, Sequence[str]],
        baseline: Path | None,
        tolerance: float,
        *,
        update: bool,
    ) -> None:
        """Reads the file and the baseline. Raises `DumbbellError` for what no run can meet."""
        opened = load(file, set=dict(chosen))
        self._file, self._expected = opened.file, opened.expect
        self._path, self._tolerance, self._update = baseline, tolerance, update
        self._chosen = opened.overrides
        self._before: Baseline | None = None
        if update and baseline is None:
            raise DumbbellError(
                "--update writes a baseline: name its file with --baseline", code=Code.BASELINE
            )
        if not self._expected and baseline is None:
            message = "nothing is expected: write `expect` into the file, or name a --baseline"
            raise DumbbellError(f"{file}: {message}", code=Code.NOTHING_EXPECTED)
        if baseline is not None and not update:
            self._before = baselines.read(baseline)
        refuse_impossible(opened.info, opened.file, self._expected, opened.flows)
        self.lines: list[str] = []
        self._cases: list[Case] = []

    def judge(self, results: Results) -> bool:
        """Judges results; returns true if everything passes. Writes the baseline with `update`."""
        if self._expected:
            self._expectations(results)
        if self._path is not None:
            now = baselines.baseline_of(results, [one.metric for one in self._expected])
            if self._before is None:
                baselines.write(self._path, now)
                count = baselines.count_of(now)
                self.lines.append(
                    f"{self._path}: baseline of {many(count, 'quantity', 'quantities')} written"
                )
            else:
                self._compare(now, self._before)
        return all(case.failure is None for case in self._cases)

    def junit(self, results: Results) -> str:
        """The test cases as JUnit XML."""
        engine, version = results.runs.select("engine", "engine_version").row(0)
        seed = str(results.experiment.seed)
        properties = [("engine", engine), ("engine_version", version), ("seed", seed)]
        return xml(results.experiment.name, self._cases, properties)

    def _expectations(self, results: Results) -> None:
        try:
            found = check(results, self._expected)
        except ExperimentError as error:
            error.file = self._file
            raise
        for one in found:
            self.lines.append(f"{one.verdict.value} {one.words}")
            self._cases.append(Case("expect", one.name, None if one.holds else one.outcome))

    def _compare(self, now: Baseline, before: Baseline) -> None:
        found = baselines.against(now, before, self._tolerance, self._chosen)
        for one in found:
            name = f"{one.sample.metric} ({one.sample.place})"
            self._cases.append(Case("baseline", name, None if one.change.passes else one.words))
        shown = [one for one in found if not one.change.passes or one.change is Change.BETTER]
        self.lines += [_line(one) for one in shown[:_MOST_LINES]]
        if len(shown) > _MOST_LINES:
            self.lines.append(f"… {len(shown) - _MOST_LINES} more")
        few = any(one.paired and one.paired.difference.count < LEAST_TESTED for one in found)
        if few and now.digest != before.digest:
            self.lines.append(
                f"Fewer than {LEAST_TESTED} repeats: the tolerance of {100 * self._tolerance:g} % "
                "alone decides, noise included"
            )
        self.lines.append(_summary(now, before, found))


def _line(one: Quantity) -> str:
    return f"{'↑' if one.change is Change.BETTER else '✗'} {one.words}"


def _summary(now: Baseline, before: Baseline, found: Sequence[Quantity]) -> str:
    """Last line: versions, and how many quantities passed."""
    if now.digest == before.digest and all(one.change.passes for one in found):
        count = many(len(found), "quantity", "quantities")
        return f"✓ every run is identical to the baseline's ({count})"
    passed = sum(one.change.passes for one in found)
    versions = f"{before.engine} {before.engine_version} → {now.engine} {now.engine_version}"
    if passed == len(found):
        return f"✓ all {passed} quantities pass against the baseline ({versions})"
    failed = len(found) - passed
    return f"✗ {failed} of {len(found)} quantities fail against the baseline ({versions})"
