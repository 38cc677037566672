"""A broker's responses to the requests of clients and followers. Source: Kafka 2.8, KafkaApis."""
