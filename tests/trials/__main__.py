"""Prints random experiments: `python -m tests.trials NUMBER… > trial.yaml`."""

from __future__ import annotations

import sys

from tests.trials.draw import text
from tests.trials.experiments import experiment

if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(text(experiment(int(argument))) + "\n")
