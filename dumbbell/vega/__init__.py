"""Vega-Lite without figures: its version, and the process that draws."""
