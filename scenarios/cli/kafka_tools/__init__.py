"""The output of kcsim topics, reassign and elect-leaders, in the words of Kafka's own tools."""
