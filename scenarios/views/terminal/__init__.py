"""A run in the terminal: its timeline, the cluster at a point in time, a sequence diagram, two runs compared."""
