"""Import of Kafka's own log files, many clusters at a time: the same history as one process makes of them."""
