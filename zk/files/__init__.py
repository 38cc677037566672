"""Readers and writers of ZooKeeper's own files: transactions, snapshots, the log of a server, the logs of an ensemble."""
