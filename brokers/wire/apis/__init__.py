"""Kafka's APIs: what a request and its response over TCP are to a broker, by subject."""
