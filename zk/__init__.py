"""Cluster state, and where it is kept: znodes, the ZooKeeper port and its adapters."""
