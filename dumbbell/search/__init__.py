"""Search in the space of an experiment: an optimum, or a worst case made simple.

`run.search(file, store=…)` does it. `sampler` (optuna) chooses points, `evaluate` runs them as
cells of the experiment in the store, `shrink` simplifies a worst case, `texts`
writes experiment files.
"""
