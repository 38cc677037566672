"""ZooKeeper's transaction logs, many files at a time: the same events as one process makes of them, told path by path."""
