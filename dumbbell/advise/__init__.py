"""Advice on a set-up: rules over its first cell, each with a run as its evidence.

`judge` runs the experiment and asks the rules of `rules`; a rule runs a changed copy of the
experiment (`case`) before it speaks. Every measured number is a metric.
"""
