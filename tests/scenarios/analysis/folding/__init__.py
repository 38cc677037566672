"""Tests of the fold, which replays runs of the simulator."""
