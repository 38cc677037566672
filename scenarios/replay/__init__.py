"""Histories too large for one process: generated, replayed, searched, imported and analysed on Spark.

Only in here is PySpark imported. Functions take a SparkSession and DataFrames and return DataFrames; what does not need
Spark (folding/, and the cores of the others) is pure Python, and is handed to Spark as it is.
"""
