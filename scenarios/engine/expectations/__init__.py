"""Evaluate whether a run's expectations hold: conditions on its event log, and the verdict."""
