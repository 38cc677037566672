"""Tests of brokers/admin/."""
