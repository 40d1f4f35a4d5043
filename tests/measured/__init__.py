"""Import of result files."""
