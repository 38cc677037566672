"""The simulated brokers: they register, stand for election, obey the controller, replicate, and coordinate consumer groups."""
