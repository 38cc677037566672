"""The hardening table: for each fault of the library, what Kafka's controller does and a hardened one, as tests."""
