"""Tests of the streaming analysis."""
