"""Read Kafka's own log files line by line and rebuild the history of leaders, ISRs and controllers that they show."""
