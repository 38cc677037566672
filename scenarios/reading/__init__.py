"""A run read in the terminal: its timeline, the cluster at a moment, a diagram of a stretch, two runs side by side."""
