"""Results as files of other tools, a file per format.

`run` has the tables of one run, `formats` lists the formats and writes the files of an experiment.
"""
