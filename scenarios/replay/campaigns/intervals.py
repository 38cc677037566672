"""How far a figure from so many runs can be trusted: confidence intervals that assume nothing of the distribution. Pure.

Shares have the interval of Clopper and Pearson, which is never too narrow; quantiles one between two of the values
themselves, found by counting how many values lie below; means one by the bootstrap, the one that is approximate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_CONFIDENCE = 0.95
RESAMPLES = 2_000
MOST_DRAWN_AT_ONCE = 4_000_000
_TINY = 1e-300
_STEPS = 400


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, and between what the odds of it lie.

    Attributes:
        low, high: of the interval. Where none or all of them are it, the other end is a bound of that confidence on its own:
            0 of n leaves room for about 3 / n at 95 % (the rule of three).
    """

    hits: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """None of nothing."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of all runs there could be, estimated from those there were. None where they were too few to say."""

    value: float | None
    low: float | None
    high: float | None


def share(hits: int, of: int, confidence: float = DEFAULT_CONFIDENCE) -> Share:
    """The interval of Clopper and Pearson; of nothing it is [0, 1]."""
    outside = 1 - confidence
    if of == 0:
        return Share(0, 0, 0.0, 1.0)
    if hits == 0:
        return Share(0, of, 0.0, 1 - outside ** (1 / of))
    if hits == of:
        return Share(of, of, outside ** (1 / of), 1.0)
    low = _beta_quantile(outside / 2, hits, of - hits + 1)
    high = _beta_quantile(1 - outside / 2, hits + 1, of - hits)
    return Share(hits, of, low, high)


def quantile(ordered: Sequence[float], q: float, confidence: float = DEFAULT_CONFIDENCE) -> Estimate:
    """The q-quantile (the smallest value that at least q of them do not exceed) of sorted values.

    An end is None where even the smallest or the largest value cannot be said to lie beyond the quantile.
    """
    n = len(ordered)
    if n == 0:
        return Estimate(None, None, None)
    outside = (1 - confidence) / 2
    # The k-th value lies at or below the quantile unless fewer than k values do, and how many do is binomial in (n, q).
    low = _most(n, lambda k: _at_most(k - 1, n, q) <= outside)
    high = _most(n, lambda k: _at_most(k - 1, n, q) < 1 - outside) + 1
    return Estimate(
        ordered[max(0, math.ceil(q * n) - 1)],
        ordered[low - 1] if low >= 1 else None,
        ordered[high - 1] if high <= n else None,
    )


def mean(values: Sequence[float], confidence: float = DEFAULT_CONFIDENCE, seed: int = 0) -> Estimate:
    """The mean, with the percentile interval of the bootstrap; the same values and seed give the same interval."""
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

    # Equal values are drawn together, so that a million runs, most of them without any outage, do not take a billion draws.
    values, counts = np.unique(data, return_counts=True)
    at_once = max(1, MOST_DRAWN_AT_ONCE // len(values))
    lots = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
    shares = counts / len(data)
    return np.concatenate([numbers.multinomial(len(data), shares, size=lot) @ values for lot in lots]) / len(data)


# --- the binomial and the beta distribution --------------------------------------------------------------------------------


def _most(n: int, holds: Any) -> int:
    """The largest k of 1 … n for which it holds, 0 if for none; it holds up to there and not beyond."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _at_most(k: int, n: int, p: float) -> float:
    """The probability of k or fewer hits of n."""
    return 0.0 if k < 0 else 1.0 if k >= n else 1 - _beta_below(p, k + 1, n - k)


def _beta_quantile(probability: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _beta_below(middle, a, b) < probability else (low, middle)
    return (low + high) / 2


def _beta_below(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: how much of the distribution lies below x."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, its mirror image does not
        return 1 - _beta_below(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Its continued fraction, by the method of Lentz."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    product = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            product *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return product


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
