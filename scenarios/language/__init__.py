"""The language of scenario files: its elements, and the messages about errors in a file."""
