"""Snapshots of a cluster's control state: the file format, and what it is read from."""
