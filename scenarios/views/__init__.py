"""A run in human-readable form: narration, terminal, web page, diagrams."""
