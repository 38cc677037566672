"""Import of ZooKeeper's transaction logs, many at a time and path by path: the same events as one process makes of them."""
