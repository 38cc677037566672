"""Calculations that need no cluster: the placement of replicas, and the assignment of partitions to consumers."""
