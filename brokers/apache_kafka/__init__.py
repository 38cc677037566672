"""Brokers of Apache Kafka itself, as processes of ours: their installation, their settings, their commands."""
