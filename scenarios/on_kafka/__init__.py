"""Scenarios on brokers of a real Apache Kafka: the same file, verbs and judgements as on simulated ones."""
