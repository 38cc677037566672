"""Errors of the fixtures: a request that cannot be served, and a run that failed."""


class BadOptionError(Exception):
    """An option of the plugin or an argument of a factory is invalid. The message is one line that says what is valid."""


class FixtureUnavailableError(Exception):
    """The chosen ZooKeeper cannot serve this fixture: the test is skipped, with this as the reason."""


class UntriggeredFaultError(Exception):
    """Nothing has triggered a fault that was armed. The message is one line that names it."""


class RunEndedError(Exception):
    """A cluster was given work after its run had ended. The cause is the error that ended the run, if there was one."""


class ScenarioFailedError(AssertionError):
    """A scenario whose expectations or invariants did not hold, or were not decided. The message is the verdict in words."""
