"""The twin of a captured transfer: its path, what limited it, its algorithm, and what if.

`observe` reads arrays from a capture (`rounds`: RTTs). A file per estimated quantity: `base_rtt`,
`rate`, `shaper`, `queue`, `loss`, `limits`, `factor`; `path` has them together. `twin` writes the
experiment, `residual` compares both. Each estimate has an interval and its evidence.
"""
