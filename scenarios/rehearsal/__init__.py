"""Reassignment plans, executed in a simulated cluster in the state of a snapshot, undisturbed and while brokers die."""
