"""Experiment files: YAML → scenarios."""

from dumbbell.experiment.cells import Cell
from dumbbell.experiment.load import Experiment, load, load_text
from dumbbell.experiment.schema import json_schema

__all__ = ["Cell", "Experiment", "json_schema", "load", "load_text"]
