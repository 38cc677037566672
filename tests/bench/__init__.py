"""Benchmarks of `make bench`: speeds measured as ratios inside one run.

Not part of the tests: machines are shared and noisy.
"""
