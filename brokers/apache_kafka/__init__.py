"""Run Apache Kafka's own brokers as child processes: their installation, settings and commands."""
