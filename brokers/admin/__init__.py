"""What a broker does for admin clients: topics, settings, leaders and records changed by request."""
