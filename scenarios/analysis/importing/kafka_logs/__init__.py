"""Import of Kafka's own log files, many at a time: the same history as one process makes of them."""
