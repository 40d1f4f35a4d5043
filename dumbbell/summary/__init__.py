"""The tables that `dumbbell run` prints: an overview, latency under load, page loads."""
