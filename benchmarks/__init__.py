"""Measurements of speed and memory. They are no part of the package."""
