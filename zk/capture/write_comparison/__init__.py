"""Comparison of what two runs of the same steps wrote to ZooKeeper: by step, and in each step by znode. Pure."""
