"""Datasets in object storage and in HDFS, on servers that run here."""
