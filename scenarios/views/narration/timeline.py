"""Shows a run as it happens: one line for each noteworthy event, then the verdict.

A line has time, node and sentence. Colour only repeats the node's name; without a terminal, or with NO_COLOR, there is none.
"""

import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, Verdict, summary
from kcsim.scenarios.views.narration.client_sentences import CLIENT_SENTENCES, is_client_detail
from kcsim.scenarios.views.narration.consumer_sentences import CONSUMER_SENTENCES
from kcsim.scenarios.views.narration.event_description import describe
from kcsim.scenarios.views.narration.narrator import Narrator
from kcsim.scenarios.views.narration.network_sentences import NETWORK_SENTENCES, is_network_detail
from kcsim.scenarios.views.narration.segment_sentences import SEGMENT_SENTENCES
from kcsim.scenarios.views.narration.topic_sentences import TOPIC_SENTENCES, is_detail
from kcsim.scenarios.views.narration.workload_sentences import WORKLOAD_SENTENCES

NUMBER_AND_UNIT = re.compile(r"(\d) (m?s\b)")
"""A duration in the story of a run, which is not divided between two lines."""
TIME_WIDTH = 9
EVIDENCE_SHOWN = 7
TABLE_WIDTH = 125
NODE_STYLES = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan", "bright_green", "bright_magenta")
OTHER_STYLES = {"zookeeper": "bold", "scenario": "bold italic"}
OUTCOME_STYLES = {
    ExpectationOutcome.HELD: "green",
    ExpectationOutcome.VIOLATED: "bold red",
    ExpectationOutcome.UNDECIDED: "yellow",
    ExpectationOutcome.NOT_OBSERVABLE: "dim",
}
PLAIN_WIDTH = 10_000
"""Width of a file or a pipe: lines are not wrapped."""
LIKE_EVENTS_SHOWN = 12
"""At most this many similar events of one node and one cause are shown: a topic may have 10,000 partitions."""


LIMITED_KINDS = frozenset().union(
    TOPIC_SENTENCES, NETWORK_SENTENCES, CLIENT_SENTENCES, WORKLOAD_SENTENCES, CONSUMER_SENTENCES, SEGMENT_SENTENCES
)
"""Kinds of which only the first similar events are shown."""


class PipeSafeConsole(Console):
    """A console whose reader may close the pipe (kcsim run … | head): the run continues, for its trace and exit status."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())  # the rest of the buffer goes there, and so does other output to this file
        os.close(nowhere)


def console_on(file: IO[str]) -> Console:
    """Return a console that colours and wraps on a terminal only; it honours NO_COLOR, and COLUMNS on a terminal."""
    console = PipeSafeConsole(file=file, highlight=False, soft_wrap=False, emoji=False, markup=False)
    if console.is_terminal:
        return console
    return PipeSafeConsole(file=file, highlight=False, width=PLAIN_WIDTH, emoji=False, markup=False)


SENTENCES_KEPT = 100_000
"""A cluster that is up for days has more; sentences are asked for soon after their events."""


class ConsoleTimeline:
    """A subscriber of an event log that prints its timeline. It also remembers the sentence of each event, for the verdict.

    Args:
        brokers: names of all brokers.
        clients: names of all clients.
        every_detail: whether to show details (is_detail), and all of many similar events.
    """

    def __init__(
        self, console: Console, brokers: tuple[str, ...], every_detail: bool = False, clients: tuple[str, ...] = ()
    ) -> None:
        self._console = console
        self._every_detail = every_detail
        self._like: Counter[tuple[str, EventKind, int | None]] = Counter()
        self._narrator = Narrator(len(brokers))
        self._node_width = max(len(node) for node in (*brokers, *clients, *OTHER_STYLES))
        self.sentences: dict[int, str] = {}

    def __call__(self, event: Event) -> None:
        """Print an event, if it is worth a line."""
        sentence = self._narrator.narrate(event)
        if sentence is None:
            return
        self.sentences[event.seq] = f"{event.node} {sentence}"
        if len(self.sentences) > SENTENCES_KEPT:
            del self.sentences[next(iter(self.sentences))]
        shown = self._shown(event, sentence)
        if shown is not None:
            self._print(event, shown)

    def _shown(self, event: Event, sentence: str) -> str | None:
        """Return the sentence itself, or a remark that more similar events follow, or None."""
        if self._every_detail or event.kind not in LIMITED_KINDS:
            return sentence
        if is_detail(event) or is_network_detail(event) or is_client_detail(event):
            return None
        like = (event.node, event.kind, event.cause)
        if len(self._like) > SENTENCES_KEPT:
            self._like.clear()
        self._like[like] += 1
        if self._like[like] > LIKE_EVENTS_SHOWN:
            return "… and so on, for more of them" if self._like[like] == LIKE_EVENTS_SHOWN + 1 else None
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
        """Return the sentence of an event, or else its description."""
        return self.sentences.get(event.seq) or describe(event)

    def evidence(self, result: ExpectationResult) -> list[str]:
        """Return the deciding events, one line each: #seq at t s: sentence.

        If there are many, only the first and the last ones.
        """
        lines = [f"#{e.seq} at {e.t_ms / 1000:.3f} s: {self.sentence(e)}" for e in result.evidence]
        if len(lines) <= EVIDENCE_SHOWN:
            return lines
        left_out = len(lines) - EVIDENCE_SHOWN
        return [lines[0], f"… {left_out} more …", *lines[1 - EVIDENCE_SHOWN :]]


def show_verdict(
    console: Console,
    verdict: Verdict,
    evidence: Callable[[ExpectationResult], list[str]],
    story: Sequence[str] = (),
) -> None:
    """Print the story of the run, then each expectation with its outcome and evidence, then the verdict in one line."""
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
    for result in verdict.results:
        details = Text("\n".join([result.observed, *evidence(result)]))
        claim = result.claim if result.invariant is None else f"{result.claim} ({result.invariant})"
        table.add_row(Text(result.outcome.value, style=OUTCOME_STYLES[result.outcome]), Text(claim), details)
    console.print()
    for sentence in story:
        lines = _wrapped(NUMBER_AND_UNIT.sub("\\1\u00a0\\2", sentence), min(console.width, TABLE_WIDTH))
        console.print("\n".join(lines).replace("\u00a0", " "), soft_wrap=True)
    if story:
        console.print()
    console.print(table)
    console.print(Text(summary(verdict)))


def _style_of(node: str) -> str:
    if node in OTHER_STYLES:
        return OTHER_STYLES[node]
    number = int("".join(filter(str.isdigit, node)) or 0)
    return NODE_STYLES[number % len(NODE_STYLES)]


def _wrapped(sentence: str, width: int) -> list[str]:
    return textwrap.wrap(sentence, max(width, 20), break_on_hyphens=False) or [""]
