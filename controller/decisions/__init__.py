"""The controller's decisions, as plain functions from values to values."""
