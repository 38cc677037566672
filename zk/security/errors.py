"""What is wrong with security settings."""


class SecurityError(Exception):
    """A file of security settings cannot be read, or asks for what is not supported. Names the file and the entry."""
