"""Histories too large for one process: generated, replayed, searched, imported and analysed on Spark.

Only in here is PySpark imported. Functions take a SparkSession and DataFrames and return DataFrames; what does not need
Spark (folding/, and the cores of the others) is pure Python, and is handed to Spark as it is.

Where to begin reading: tables/ says what a dataset is. folding/ replays one partition's history; replay.py gives it a table
of events to work on, replay_files.py the files of a dataset that need no shuffling (laid_out.py), one_process.py those files
without Spark; replay_dataset.py is what `kcsim spark replay` calls. Datasets come from runs (tables/ingest.py), from
clusters (importing/), from seeds (generate.py, campaigns/). Of transitions the analyses/ are made, and of those the report/.
"""
