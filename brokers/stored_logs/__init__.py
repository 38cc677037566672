"""A broker's logs in files of Kafka's format, which outlive its process."""
