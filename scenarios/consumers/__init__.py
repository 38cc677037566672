"""Consumers of a run: each a process that is in a group, fetches what it is assigned, and commits how far it has come."""
