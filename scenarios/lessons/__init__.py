"""Lessons: a scenario with narration, and a question before each outcome that the run itself answers."""
