"""Recordings of a running Apache Kafka, played on our cluster and compared write by write."""
