"""Physical limits of flows and links, read from a scenario alone."""
