"""A run told to people: one event after the other, and why each happened."""
