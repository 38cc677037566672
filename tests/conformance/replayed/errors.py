"""Errors that keep a recording from being played."""


class NotSupportedError(Exception):
    """Our cluster cannot do this, or not yet; the message says what and why."""
