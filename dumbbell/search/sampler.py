"""Choice of points by optuna's tree-structured Parzen estimator.

Batches of fixed size are asked for and told in order, so that the same seed gives the same points
with any number of workers. Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization,
NIPS 2011; Watanabe, arXiv:2304.11127.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.experiment.contents import SearchSpec
from dumbbell.experiment.space import Choice, Dimension, Level, Range, Space
from dumbbell.search.points import Evaluation, Point

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial, Trial

#: A range of at most so many whole numbers is sampled as whole numbers.
_COUNTABLE = 100
_VIOLATIONS = "violations"
#: Points drawn at random before the estimator chooses: at least, and as a share of all.
_LEAST_RANDOM, _RANDOM = 8, 0.4


def optuna_or_error() -> Any:
    """The module optuna, silent. Raises `DumbbellError` with the command that installs it."""
    try:
        import optuna
    except ImportError:
        message = (
            "searching needs optuna: pip install 'dumbbell-lab[search]', or pip install optuna"
        )
        raise DumbbellError(message, code=Code.NOT_INSTALLED) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def sample(
    space: Space, spec: SearchSpec, evaluate: Callable[[Sequence[Point]], Sequence[Evaluation]]
) -> None:
    """Evaluates as many points of the space as the search asks for, its start first."""
    optuna = optuna_or_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)
        sampler = optuna.samplers.TPESampler(
            seed=spec.seed,
            n_startup_trials=max(_LEAST_RANDOM, round(_RANDOM * spec.evaluations)),
            multivariate=True,
            constant_liar=True,
            constraints_func=_violations if spec.aim.subject_to else None,
        )
        direction = "maximize" if spec.maximises else "minimize"
        study = optuna.create_study(sampler=sampler, direction=direction)
        study.enqueue_trial({name: _start(one) for name, one in space.items()})
        left = spec.evaluations
        while left:
            # The start alone comes first: what is wrong with the file shows after few runs.
            count = 1 if left == spec.evaluations else min(spec.batch, left)
            trials = [study.ask() for _ in range(count)]
            points = [_point(space, trial) for trial in trials]
            for trial, found in zip(trials, evaluate(points), strict=True):
                trial.set_user_attr(_VIOLATIONS, list(found.violations))
                if found.measured:
                    study.tell(trial, found.value.mean)
                else:
                    study.tell(trial, state=optuna.trial.TrialState.FAIL)
            left -= count


def _violations(trial: FrozenTrial) -> Sequence[float]:
    found: list[float] = trial.user_attrs.get(_VIOLATIONS, [1.0])
    return found


def _point(space: Space, trial: Trial) -> dict[str, Level]:
    return {name: _level(name, dimension, trial) for name, dimension in space.items()}


def _level(name: str, dimension: Dimension, trial: Trial) -> Level:
    if isinstance(dimension, Choice):
        return dimension.levels[trial.suggest_categorical(name, range(len(dimension.levels)))]
    if _is_countable(dimension):
        low, high = int(dimension.low), int(dimension.high)
        return dimension.level(trial.suggest_int(name, low, high, log=dimension.log))
    low_, high_ = float(dimension.low), float(dimension.high)
    return dimension.level(
        dimension.rounded(trial.suggest_float(name, low_, high_, log=dimension.log))
    )


def _start(dimension: Dimension) -> float:
    if isinstance(dimension, Choice):
        return 0
    return int(dimension.start) if _is_countable(dimension) else float(dimension.start)


def _is_countable(dimension: Range) -> bool:
    return dimension.whole and dimension.high - dimension.low <= _COUNTABLE
