"""Sessions, reading, writing."""
