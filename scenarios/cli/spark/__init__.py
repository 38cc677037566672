"""kcsim spark: histories too large for one process, on Spark. Nothing of Spark is imported before a subcommand runs."""
