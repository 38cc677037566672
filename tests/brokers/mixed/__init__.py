"""Clusters of brokers of ours and of Apache Kafka in processes, played by timetables that are drawn from seeds."""
