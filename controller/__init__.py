"""The controller: elected through ZooKeeper, it runs the cluster. No I/O of its own."""
