"""Whole clusters, on each kind of ZooKeeper and brokers, and every fault that can be injected into them."""
