"""The twin of a captured transfer: its path, what limited it, its algorithm, and what if.

`fitting.fit` does it. `observe` reads arrays from a capture (`rounds`: RTTs, `ack_path`: queues of
ACKs, `chosen`: which connection, and what the capture lacks). A file per estimated quantity:
`base_rtt`, `rate`, `shaper` (`bucket`: of a policer), `queue`, `loss`, `limits` (`clocking`: the
ACK clock), `competing`, `factor`; `path` has them together, each an `estimate` with an interval and
evidence. `twin` (`writing`: of an application) makes the experiment, `written` its file, `running`
runs it, `residual` compares both. `algorithm` ranks congestion controls by `features` with
`weights`, `what_if` tries changes; `display`, `page`, `command` show everything.
"""
