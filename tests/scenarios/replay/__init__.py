"""The part that runs on Spark."""
