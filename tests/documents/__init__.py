"""The reference pages in docs/reference: each is generated from the code, and a test compares it with the file."""
