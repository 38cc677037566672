"""What a broker does for admin clients: it describes the cluster, and changes topics, settings, leaders and records."""
