"""The calls that score: evaluate and its relatives, their results and explanations."""
