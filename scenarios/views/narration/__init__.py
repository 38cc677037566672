"""A run in sentences: the narration of each event, and why each event happened."""
