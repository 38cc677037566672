"""Whole simulated runs of many seeds inside executors."""
