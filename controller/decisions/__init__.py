"""What the controller decides, as plain functions from values to values."""
