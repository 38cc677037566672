"""The number of examples that a Hypothesis test tries."""

from hypothesis import settings

_FEWEST = 10


def fewer(share: int) -> settings:
    """Return settings with only a share of the examples that other tests try, whichever profile is loaded.

    For properties that are tried in several variants, or whose examples take long to make.

    Args:
        share: 4 means a quarter.
    """
    loaded = settings.default
    assert loaded is not None
    return settings(loaded, max_examples=max(loaded.max_examples // share, _FEWEST))
