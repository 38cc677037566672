"""Whether what was expected of a run holds: conditions on its event log, and the verdict."""
