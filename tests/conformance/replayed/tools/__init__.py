"""Kafka's own commands as recordings have them, run through our commands' functions, with the output of Kafka's."""
