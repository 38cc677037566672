"""Errors of the controller itself."""


class IllegalStateError(Exception):
    """Something that cannot be, was: a znode the controller relies on is missing. The current event is given up."""


class StateChangeFailedError(Exception):
    """A partition or replica could not be moved to another state. It stays where it was; others are not concerned."""


class NotControllerError(Exception):
    """The broker that was asked is not, or no longer, the active controller. Nothing was done."""
