"""Shows a run as it happens: one line for each event worth one, then the verdict.

Time, node, what happened. Colour only repeats what a node's name says; without a terminal, or with NO_COLOR, there is none.
"""

import os
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcsim.scenarios.judging.verdict import Judged, Outcome, Verdict
from kcsim.scenarios.telling.consumer_sentences import CONSUMER_SENTENCES
from kcsim.scenarios.telling.narrator import Narrator, describe
from kcsim.scenarios.telling.network_sentences import NETWORK_SENTENCES, is_network_detail
from kcsim.scenarios.telling.segment_sentences import SEGMENT_SENTENCES
from kcsim.scenarios.telling.topic_sentences import SENTENCES, is_detail
from kcsim.scenarios.telling.workload_sentences import WORKLOAD_SENTENCES
from kcsim.zk.events import Event, EventKind

TIME_WIDTH = 9
EVIDENCE_SHOWN = 7
TABLE_WIDTH = 125
NODE_STYLES = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan", "bright_green", "bright_magenta")
OTHER_STYLES = {"zookeeper": "bold", "scenario": "bold italic"}
OUTCOME_STYLES = {Outcome.HELD: "green", Outcome.VIOLATED: "bold red", Outcome.UNDECIDED: "yellow", Outcome.UNTOLD: "dim"}
PLAIN_WIDTH = 10_000
"""Lines that go to a file or a pipe are not wrapped."""
TOLD_OF_A_KIND = 12
"""Of like decisions or requests of one node, by one cause, so many are shown: a topic may have 10,000 partitions."""


OF_MANY = frozenset().union(SENTENCES, NETWORK_SENTENCES, WORKLOAD_SENTENCES, CONSUMER_SENTENCES, SEGMENT_SENTENCES)
"""Kinds of which only the first of those that are alike are shown."""


class PatientConsole(Console):
    """A console whose reader may leave (kcsim run … | head): the run goes on, its trace and its exit status are wanted."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())  # what is still in the buffer goes there, and what others print
        os.close(nowhere)


def console_on(file: IO[str]) -> Console:
    """A console that colours and wraps on a terminal only; NO_COLOR is honoured, and so is COLUMNS on a terminal."""
    console = PatientConsole(file=file, highlight=False, soft_wrap=False, emoji=False, markup=False)
    if console.is_terminal:
        return console
    return PatientConsole(file=file, highlight=False, width=PLAIN_WIDTH, emoji=False, markup=False)


class Timeline:
    """Subscribe it to an event log. It also remembers what it said of each event, for the verdict.

    Args:
        brokers: names of all of them.
        clients: the same.
        every_detail: whether to show what is_detail calls one, and all of a crowd of like events.
    """

    def __init__(
        self, console: Console, brokers: tuple[str, ...], every_detail: bool = False, clients: tuple[str, ...] = ()
    ) -> None:
        self._console = console
        self._every_detail = every_detail
        self._like: Counter[tuple[str, EventKind, int | None]] = Counter()
        self._narrator = Narrator(len(brokers))
        self._node_width = max(len(node) for node in (*brokers, *clients, *OTHER_STYLES))
        self.said: dict[int, str] = {}

    def __call__(self, event: Event) -> None:
        """Show an event, if it is worth a line."""
        sentence = self._narrator.tell(event)
        if sentence is None:
            return
        self.said[event.seq] = f"{event.node} {sentence}"
        shown = self._shown(event, sentence)
        if shown is not None:
            self._print(event, shown)

    def _shown(self, event: Event, sentence: str) -> str | None:
        """The sentence itself, or that it goes on like this, or nothing."""
        if self._every_detail or event.kind not in OF_MANY:
            return sentence
        if is_detail(event) or is_network_detail(event):
            return None
        like = (event.node, event.kind, event.cause)
        self._like[like] += 1
        if self._like[like] > TOLD_OF_A_KIND:
            return "… and so on, for more of them" if self._like[like] == TOLD_OF_A_KIND + 1 else None
        return sentence

    def _print(self, event: Event, sentence: str) -> None:
        indent = TIME_WIDTH + 2 + self._node_width + 2
        lines = _wrapped(sentence, self._console.width - indent)
        line = Text(f"{event.t_ms / 1000:{TIME_WIDTH - 2}.3f} s  ")
        line.append(f"{event.node:<{self._node_width}}", style=_style_of(event.node))
        line.append(f"  {lines[0]}")
        for more in lines[1:]:
            line.append(f"\n{' ' * indent}{more}")
        self._console.print(line, soft_wrap=True)

    def sentence(self, event: Event) -> str:
        """What was said of an event, or else what it is."""
        return self.said.get(event.seq) or describe(event)

    def evidence(self, judged: Judged) -> list[str]:
        """The events that decided, one line each: #seq at t s: what; the first and the last ones, when they are many."""
        lines = [f"#{e.seq} at {e.t_ms / 1000:.3f} s: {self.sentence(e)}" for e in judged.evidence]
        if len(lines) <= EVIDENCE_SHOWN:
            return lines
        left_out = len(lines) - EVIDENCE_SHOWN
        return [lines[0], f"… {left_out} more …", *lines[1 - EVIDENCE_SHOWN :]]


def show_verdict(console: Console, verdict: Verdict, evidence: Callable[[Judged], list[str]]) -> None:
    """Print each expectation, held or not, with the evidence; then one line on the whole."""
    table = Table(
        title=f"Verdict on {verdict.scenario}",
        title_justify="left",
        show_lines=True,
        expand=False,
        width=min(console.width, TABLE_WIDTH),
    )
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Expected", ratio=2)
    table.add_column("Seen, and the events that decided", ratio=3)
    for judged in verdict.judged:
        told = Text("\n".join([judged.seen, *evidence(judged)]))
        claim = judged.claim if judged.invariant is None else f"{judged.claim} ({judged.invariant})"
        table.add_row(Text(judged.outcome.value, style=OUTCOME_STYLES[judged.outcome]), Text(claim), told)
    console.print()
    console.print(table)
    console.print(Text(summary(verdict)))


def summary(verdict: Verdict) -> str:
    """The whole verdict in one line."""
    broken = [judged.invariant for judged in verdict.judged if judged.invariant is not None]
    told = _of_expectations(verdict)
    if not broken:
        return told
    some = f"{len(broken)} invariant{'s' * (len(broken) > 1)} violated: {', '.join(broken)}"
    return f"{some}; {told}" if verdict.failure or len(verdict.judged) > len(broken) else some


def _of_expectations(verdict: Verdict) -> str:
    if verdict.failure is not None:
        return f"undecided: {verdict.failure}"
    expected = [judged for judged in verdict.judged if judged.invariant is None]
    told = [judged.outcome for judged in expected if judged.outcome is not Outcome.UNTOLD]
    violated, total = sum(outcome is not Outcome.HELD for outcome in told), len(told)
    untold = len(expected) - total
    rest = f"; {untold} could not be seen on these brokers" if untold else ""
    if not total and untold:
        return "undecided: none of the expectations can be seen on these brokers"
    if not total:
        return f"all {len(verdict.invariants)} invariants held"
    if total == 1:
        return f"the expectation {'was violated' if violated else 'held'}{rest}"
    return f"{violated} of {total} expectations violated{rest}" if violated else f"all {total} expectations held{rest}"


def _style_of(node: str) -> str:
    if node in OTHER_STYLES:
        return OTHER_STYLES[node]
    number = int("".join(filter(str.isdigit, node)) or 0)
    return NODE_STYLES[number % len(NODE_STYLES)]


def _wrapped(sentence: str, width: int) -> list[str]:
    return textwrap.wrap(sentence, max(width, 20), break_on_hyphens=False) or [""]
