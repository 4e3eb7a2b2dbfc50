"""Intervals, tests and corrections on columns of numbers, the same to the last bit for the same seed."""
