"""What can keep a recording from being played."""


class NotSupportedError(Exception):
    """Our cluster cannot do this, or not yet: says what, and why."""
