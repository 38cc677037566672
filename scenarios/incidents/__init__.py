"""What happened to a real cluster: the first fault in its logs, the evidence, and a scenario that reproduces it."""
