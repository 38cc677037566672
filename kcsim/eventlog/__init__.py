"""The event log: kinds and columns of events, the log, its writers and readers, and the cluster state folded from it."""
