"""The same requests of clients to our brokers and to those of Apache Kafka: the answers are equal, field by field."""
