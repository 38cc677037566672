"""Run clusters whose brokers are processes of their own: those of Apache Kafka, or of `kcsim broker`."""
