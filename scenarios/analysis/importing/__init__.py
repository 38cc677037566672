"""Import of ZooKeeper's and Kafka's own files, many at a time, into the table of events."""
