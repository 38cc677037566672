"""A cluster to play with, and the way into it from other terminals."""
