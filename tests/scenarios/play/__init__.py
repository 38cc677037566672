"""Tests of clusters that are played with on a page."""
