"""Tests of Spark sessions and of reading and writing tables."""
