"""Kafka's admin tools that work through ZooKeeper: the same reads, refusals and znodes. Source: Kafka 2.8, AdminZkClient."""
