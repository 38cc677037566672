"""Odds as text: each figure with its interval, and the worst runs with the command that shows each again."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from kcsim.eventlog.outage_view import OutageView
from kcsim.scenarios.analysis.campaigns.intervals import Estimate, Share
from kcsim.scenarios.analysis.campaigns.odds import Odds, WorstRun
from kcsim.scenarios.language.value_types import duration_text

UNAVAILABLE = {
    OutageView.CLIENTS: "no leader that runs and is registered",
    OutageView.ZOOKEEPER: "no leader that is registered",
}
COLUMN = 34


def lines_of(odds: Odds, what: str, again: Mapping[int, str]) -> Iterator[str]:
    """Yield the lines of the whole report."""
    query = odds.query
    yield f"{what}: {odds.runs} runs; intervals of {query.confidence * 100:g} %"
    if odds.unknown:
        named = ", ".join(map(str, odds.unknown_seeds)) + (", …" if odds.unknown > len(odds.unknown_seeds) else "")
        yield f"{odds.unknown} more runs came to no end that is known, and count nowhere: seeds {named}"
    longer = f"longer than {duration_text(query.for_ms)}" if query.for_ms else "at all"
    yield ""
    yield _row(f"unavailable {longer}", _share(odds.unavailable))
    yield _row("acknowledged records lost", f"{_share(odds.data_loss)}, of runs that had any acknowledged")
    yield _row("an invariant violated", f"{_share(odds.violated)}, known bugs of Kafka itself excluded")
    yield ""
    yield _row("unavailable time, mean", _time(odds.unavailable_ms))
    for q, estimate in odds.quantiles:
        yield _row(f"unavailable time, {q:.0%} of runs up to", _time(estimate))
    yield ""
    yield f"Unavailable: a partition that was led once has {UNAVAILABLE[query.view]}."
    yield "Its time: how long that was so for at least one partition of a run."
    yield from _worst("longest without a leader", odds.worst_unavailable, again, lambda run: _ms(run.longest_ms))
    yield from _worst("most records lost", odds.worst_losses, again, lambda run: str(run.records_lost))


def _row(name: str, value: str) -> str:
    return f"{name:<{COLUMN}}  {value}"


def _share(share: Share) -> str:
    if share.share is None:
        return "no such run"
    return f"{_percent(share.share)}  ({_percent(share.low)} to {_percent(share.high)})  {share.hits} of {share.of}"


def _percent(part: float) -> str:
    return f"{part * 100:.3g} %"


def _time(estimate: Estimate) -> str:
    if estimate.value is None:
        return "no run"
    low, high = (_ms(end) if end is not None else "?" for end in (estimate.low, estimate.high))
    return f"{_ms(estimate.value)}  ({low} to {high})"


def _ms(value: float) -> str:
    return f"{value / 1_000:.3f} s"


def _worst(
    title: str, runs: Sequence[WorstRun], again: Mapping[int, str], figure: Callable[[WorstRun], str]
) -> Iterator[str]:
    if runs:
        yield ""
        yield f"{title}:"
        yield from (f"  {figure(run):>10}  {again[run.seed]}" for run in runs)
