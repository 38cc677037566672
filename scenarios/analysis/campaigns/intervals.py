"""Confidence intervals of figures from a number of runs, which assume nothing of the distribution. Pure.

Shares have the interval of Clopper and Pearson, which is never too narrow. Quantiles have an interval between two of the
values, found by counting how many values lie below. Means have an interval by the bootstrap, the only approximate one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_CONFIDENCE = 0.95
RESAMPLES = 2_000
MOST_DRAWN_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Share:
    """A number of hits among a number of runs, with a confidence interval of their probability.

    Attributes:
        low, high: the ends of the interval. Where none or all of the runs are hits, the other end alone is a bound of that
            confidence: 0 of n leaves room for about 3 / n at 95 % (the rule of three).
    """

    hits: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The share of hits; None if `of` is 0."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of all possible runs, estimated from those that were run. None where there were too few runs."""

    value: float | None
    low: float | None
    high: float | None


def share(hits: int, of: int, confidence: float = DEFAULT_CONFIDENCE) -> Share:
    """Return the share with the interval of Clopper and Pearson; [0, 1] if `of` is 0."""
    if of == 0:
        return Share(0, 0, 0.0, 1.0)
    from scipy.stats import beta  # binomtest(…).proportion_ci rounds to 12 decimals, too few for one in a million

    outside = (1 - confidence) / (1 if hits in (0, of) else 2)
    low = float(beta.ppf(outside, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - outside, hits + 1, of - hits)) if hits < of else 1.0
    return Share(hits, of, low, high)


def quantile(ordered: Sequence[float], q: float, confidence: float = DEFAULT_CONFIDENCE) -> Estimate:
    """Return the q-quantile of sorted values: the smallest value that at least a share q of them do not exceed.

    An end is None where not even the smallest or the largest value bounds the quantile with this confidence.
    """
    n = len(ordered)
    if n == 0:
        return Estimate(None, None, None)
    from scipy.stats import binom

    outside = (1 - confidence) / 2
    # The k-th value lies at or below the quantile unless fewer than k values do, and their number is binomial in (n, q).
    low = int(binom.ppf(outside, n, q))
    high = int(binom.ppf(1 - outside, n, q)) + 1
    return Estimate(
        ordered[max(0, math.ceil(q * n) - 1)],
        ordered[low - 1] if low >= 1 else None,
        ordered[high - 1] if high <= n else None,
    )


def mean(values: Sequence[float], confidence: float = DEFAULT_CONFIDENCE, seed: int = 0) -> Estimate:
    """Return the mean, with the percentile interval of the bootstrap; the same values and seed give the same interval."""
    import numpy as np

    if len(values) == 0:
        return Estimate(None, None, None)
    data = np.sort(np.asarray(values, dtype=float))
    if data[0] == data[-1]:
        return (
            Estimate(float(data[0]), float(data[0]), float(data[0]))
            if len(values) > 1
            else Estimate(float(data[0]), None, None)
        )
    means = _resampled_means(data, np.random.default_rng(seed))
    outside = (1 - confidence) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return Estimate(float(data.mean()), float(low), float(high))


def _resampled_means(data: Any, numbers: Any) -> Any:
    import numpy as np

    # scipy.stats.bootstrap draws every value. Here equal values are drawn together, so that a million runs, most of them
    # without any outage, do not take a billion draws.
    values, counts = np.unique(data, return_counts=True)
    at_once = max(1, MOST_DRAWN_AT_ONCE // len(values))
    lots = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
    shares = counts / len(data)
    return np.concatenate([numbers.multinomial(len(data), shares, size=lot) @ values for lot in lots]) / len(data)
