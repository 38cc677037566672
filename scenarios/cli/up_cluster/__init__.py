"""A running cluster for experiments, and the control channel for other terminals."""
