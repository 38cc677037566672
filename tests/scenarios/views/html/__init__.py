"""Tests of what all HTML pages share."""
