"""What two runs of the same steps wrote to ZooKeeper, compared: by step, and in each step by znode. Pure."""
