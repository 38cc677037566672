"""Tests of kcsim incident."""
