"""The simulated brokers: they stand for election, obey the controller, replicate, and coordinate consumer groups."""
