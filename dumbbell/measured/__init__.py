"""Result files of other tools, read into runs of a store.

`values` has what a reader returns, `fields` checks values of hostile JSON, `source` reads bytes of
a bounded size. A format is a file, as `iperf3`. `formats` lists them. `dumbbell/store/importing.py`
makes runs of what they return.
"""
