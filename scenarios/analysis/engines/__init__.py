"""The engines that can compute the analyses: Spark, and DuckDB for what fits one machine."""
