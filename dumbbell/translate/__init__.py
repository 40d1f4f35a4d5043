"""Words of other tools → experiment files: a file per language, one per discipline of `tc`.

`translation` is the entrance. A language's reader makes commands of `tc`, or interfaces; `network`
makes nodes and links of them, `write` the file. Nothing is executed.
"""
