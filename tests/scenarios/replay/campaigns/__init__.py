"""Tests of whole simulated runs inside executors."""
