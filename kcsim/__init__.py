"""A Kafka control plane with ZooKeeper-style election, simulated: real decisions, real ZooKeeper, simulated brokers."""
