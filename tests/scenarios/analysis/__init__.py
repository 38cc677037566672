"""Tests of the part of kcsim that runs on Spark."""
