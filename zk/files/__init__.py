"""ZooKeeper's own files, read: transactions, the log of a server, the logs of an ensemble."""
