"""Producers and consumers, as Kafka's clients behave."""
