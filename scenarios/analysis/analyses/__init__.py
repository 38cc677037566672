"""Analyses of histories: DataFrames in, DataFrames out."""
