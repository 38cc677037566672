"""Errors of the controller itself."""


class IllegalStateError(Exception):
    """Something that cannot be, was: a znode the controller relies on is missing. The current event is given up."""
