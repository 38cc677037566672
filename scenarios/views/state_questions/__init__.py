"""Answers to questions about states and absences: whether it is so, since when, why, and what did not happen."""
