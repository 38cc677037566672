"""Tests of whole simulated runs inside Spark executors."""
