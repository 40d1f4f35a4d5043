"""Search in the space of an experiment: an optimum, or a worst case made simple.

`run.search(file, store=…)` does it. Every evaluation is a cell of the experiment in the store.
"""
