"""ZooKeeper: the port, its adapters, Kafka's operations on it, its servers and its files."""
