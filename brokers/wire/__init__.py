"""Kafka's wire protocol: what clients and brokers exchange over TCP."""
