"""Import of ZooKeeper's transaction logs, many clusters at a time: the same events as one process makes of them."""
