"""A ZooKeeper to talk to: embedded, in containers, or somebody else's; and what controls its members."""
