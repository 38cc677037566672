"""Adapters of brokers/ports.py: links with faults between nodes, and processes that can be frozen and killed."""
