"""The tables that the analysis package reads and writes: their columns, reading, writing, and the Spark session."""
