"""Tests of reports of runs: their contents, and their look and behaviour in a browser."""
