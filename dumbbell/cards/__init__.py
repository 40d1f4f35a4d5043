"""Scorecards: what an RFC or draft asks of an algorithm, measured beside the one in use.

`card` reads what is asked, `running` measures it with the gate's paired comparison, `display` has
the card as tables for a terminal, Markdown and JSON, `page` as HTML. The experiments are suites of
`dumbbell/gate`.
"""
