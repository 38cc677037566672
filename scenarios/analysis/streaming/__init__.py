"""Following event logs that are still being written: transitions and running analyses with Spark's Structured Streaming."""
