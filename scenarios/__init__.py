"""What people run: clusters in one of the environments, what happens to them, and how it is shown and evaluated."""
