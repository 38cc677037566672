"""Kafka's own commands as recordings have them, done through our commands' functions, with what they print."""
