"""ZooKeeper servers: embedded, in containers, or external; and the control of their members."""
