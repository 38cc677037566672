"""Kafka's own log files: read line by line, and the history of leaders, ISRs and controllers that they show."""
