"""Parse Kafka's log lines into typed messages, for the importer of kept files and for the feed from running brokers."""
