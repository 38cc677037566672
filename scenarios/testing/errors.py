"""Why a test cannot be served as it asks, or a run was no success."""


class BadOptionError(Exception):
    """An option of the plugin, or an argument of a factory, makes no sense. One line that says what would."""


class NotHereError(Exception):
    """The chosen ZooKeeper cannot serve this fixture: the test is skipped, with this as the reason."""


class WorldEndedError(Exception):
    """Something was asked of a cluster whose run is over; the cause is what ended it, if anything did."""


class ScenarioFailedError(AssertionError):
    """A scenario whose expectations or invariants did not hold, or were not decided: the verdict, in words."""
