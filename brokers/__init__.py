"""The simulated brokers: one registers, stands for election, and obeys the controller."""
