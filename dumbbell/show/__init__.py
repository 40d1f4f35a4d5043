"""Congestion windows and queues of a stored run on the terminal: what `dumbbell show` prints."""
