"""The answer to a question about a state as text, wrapped to a width, and as JSON."""

import textwrap
from collections.abc import Iterator
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.cause_text import Sentences, story_json
from kcsim.scenarios.views.state_questions.answer import StateAnswer

NARROWEST = 40
UNKNOWN_VERDICT = "the trace does not say"


def seqs_of_answer(answer: StateAnswer) -> set[int]:
    """Return the seqs of the events whose sentences an answer needs."""
    chain = answer.story.chain if answer.story else ()
    faults = [fault for step in answer.missing for fault in step.faults]
    ended = [answer.ended] if answer.ended else []
    return {event.seq for event in (*chain, *faults, *ended)}


def answer_lines(answer: StateAnswer, sentences: Sentences, width: int) -> Iterator[str]:
    """Yield the answer: the verdict, the interval, the chain of causes, and what did not happen."""
    yield from _wrapped(_verdict(answer), width)
    yield from _wrapped(f"At {_seconds(answer.asked_ms)}: {answer.actual}.", width)
    if answer.holds is None:
        return
    if answer.story is not None:
        yield ""
        yield "Because:"
        if not answer.story.has_known_root:
            yield from _wrapped("(what came before is not recorded)", width, "  ")
        for event in answer.story.chain:
            yield from _wrapped(_event_line(event, sentences), width, "  ", "      ")
    if answer.missing:
        yield ""
        yield "What has not happened:"
        described: set[int] = set()
        for step in answer.missing:
            faults = ""
            for fault in step.faults:
                again = fault.seq in described
                faults += f" [fault #{fault.seq}]" if again else f" [fault {_event_line(fault, sentences)}]"
                described.add(fault.seq)
            yield from _wrapped(step.step.text + faults, width, "  - ", "    ")


def _verdict(answer: StateAnswer) -> str:
    if answer.holds is None:
        return f"{answer.question.text}: {UNKNOWN_VERDICT}."
    began = f"since {_seconds(answer.began.t_ms)} (#{answer.began.seq})" if answer.began else "since the run began"
    until = f"until {_seconds(answer.ended.t_ms)} (#{answer.ended.seq})" if answer.ended else "until the end of the run"
    return f"{answer.question.text}: {'yes' if answer.holds else 'no, it is not so'}, {began}, {until}."


def _event_line(event: Event, sentences: Sentences) -> str:
    return f"#{event.seq}  {_seconds(event.t_ms)}  {event.node}  {sentences.of(event)}"


def _seconds(t_ms: int) -> str:
    return f"{t_ms / 1000:.3f} s"


def _wrapped(text: str, width: int, first: str = "", below: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        max(width, NARROWEST),
        initial_indent=first,
        subsequent_indent=below,
        break_on_hyphens=False,
        break_long_words=False,
    )


def answer_json(answer: StateAnswer, sentences: Sentences) -> dict[str, Any]:
    """Return the same as JSON; the causes are those of an event's answer."""

    def moment(event: Event | None) -> dict[str, int] | None:
        return None if event is None else {"seq": event.seq, "t_ms": event.t_ms}

    return {
        "question": answer.question.text,
        "at_ms": answer.asked_ms,
        "holds": answer.holds,
        "actual": answer.actual,
        "since": moment(answer.began),
        "until": moment(answer.ended),
        "because": story_json(answer.story, sentences) if answer.story else None,
        "missing": [
            {
                "says": step.step.text,
                "evidence": list(step.step.evidence),
                "faults": [{"seq": f.seq, "t_ms": f.t_ms, "says": sentences.of(f)} for f in step.faults],
            }
            for step in answer.missing
        ],
    }
