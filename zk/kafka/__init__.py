"""Kafka's operations on ZooKeeper: typed reads, writes fenced by the controller epoch, election and registration."""
