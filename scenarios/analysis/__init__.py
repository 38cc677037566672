"""Histories too large for one process: generated, replayed, searched, imported and analysed on Spark.

Only this package imports PySpark. Its functions take a SparkSession and DataFrames and return DataFrames. What does not need
Spark (folding/, and the cores of the other packages) is pure Python, and Spark runs it unchanged.

Where to begin reading: tables/ says what a dataset is, and where it may lie (tables/location.py). folding/ replays one
partition's history. replay.py replays a table of events; replay_files.py replays the files of a dataset that need no
shuffling (partitioned_files.py); `kcsim spark replay` calls replay_dataset.py. Datasets are made from runs (ingest.py), from
clusters (importing/) and from seeds (generate.py, campaigns/); kept_tables.py has them keep what most analyses begin with.
The analyses/ read transitions, and the report/ reads the analyses. sql.py makes SQL views of all these tables.
"""
