"""Regression gate: a new sender beside the one before, over a suite of experiments.

`sides` reads what is compared, `suite` the experiments, `verdict` judges quantities, `gate` runs
both sides until each is decided, `first` finds where a run parts from the other, `beside`
asks another engine, `display` says it.
"""
