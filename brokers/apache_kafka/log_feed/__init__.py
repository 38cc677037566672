"""Turn the log lines of running Kafka brokers into events while they are written."""
