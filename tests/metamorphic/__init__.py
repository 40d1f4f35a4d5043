"""Relations between numbers that hold whatever an experiment is: no golden value is needed."""
