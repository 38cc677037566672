"""What people run: clusters in one of the worlds, what happens to them, and how it is told and judged."""
