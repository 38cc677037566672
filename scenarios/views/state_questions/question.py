"""A question about a state of the cluster, as a person writes it: "orders-4 offline at 6.4s"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from kcsim.scenarios.views.trace.time_point import THE_END, TimePoint, parse_time_point
from kcsim.text import suggestion
from kcsim.vocabulary import TopicPartition

AT = "at"
FILLERS = frozenset({"why", "is", "are", "was", "does", "the", "there"})
"""Words that are skipped wherever a person writes them."""
PLACEHOLDERS = {
    "PARTITION": re.compile(r".+-\d+"),
    "BROKER": re.compile(r"broker-\d+"),
    "TOPIC": re.compile(r"[^\s/]+"),
    "CONSUMER": re.compile(r"\S+"),
}


class StateForm(StrEnum):
    """The states that can be asked about. The value is the form of the question; `meaning` says when the state holds."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> "StateForm":
        form = str.__new__(cls, value)
        form._value_ = value
        form.meaning = meaning
        return form

    OFFLINE = "PARTITION offline", "no running, registered broker leads it; also: without leader"
    UNDER_REPLICATED = "PARTITION under-replicated", "its ISR is smaller than its assignment"
    PRODUCE_PENDING = "produce to PARTITION pending", "records are neither acknowledged nor given up"
    REASSIGNMENT_PENDING = "reassignment of PARTITION pending", "replicas are being added or removed"
    NO_CONTROLLER = "no controller", "no broker works as the controller, whatever /controller says"
    IN_ISR = "BROKER in isr of PARTITION", "the ISR in ZooKeeper names the broker"
    NOT_IN_ISR = "BROKER not in isr of PARTITION", "the ISR in ZooKeeper does not name the broker"
    LEADS = "BROKER leads PARTITION", "ZooKeeper names the broker as the leader"
    NOT_LEADER = "BROKER not leader of PARTITION", "ZooKeeper names another leader, or none"
    DEAD = "BROKER dead", "its process was killed or stopped"
    FROZEN = "BROKER frozen", "its process is paused"
    NOT_REGISTERED = "BROKER not registered", "it has no znode in /brokers/ids"
    SESSION_EXPIRED = "BROKER session expired", "ZooKeeper has ended its session"
    NOT_DELETED = "topic TOPIC not deleted", "its deletion was requested, and it still exists"
    OWNS_NOTHING = "consumer CONSUMER owns nothing", "it consumes no partition"


SYNONYMS = {
    "PARTITION without leader": StateForm.OFFLINE,
    "PARTITION underreplicated": StateForm.UNDER_REPLICATED,
    "no working controller": StateForm.NO_CONTROLLER,
    "BROKER paused": StateForm.FROZEN,
    "BROKER stopped": StateForm.DEAD,
}
TEMPLATES = {**{form.value: form for form in StateForm}, **SYNONYMS}


class StateQuestionError(Exception):
    """The text is no question about a state. The message names the nearest one, or the forms there are."""


@dataclass(frozen=True, slots=True)
class StateQuestion:
    """A state, its subject, and the time that is asked about.

    Attributes:
        text: the state without its time, in the documented form.
        partition, broker, topic, consumer: the subject, as the form has them; `consumer` is the node's name.
    """

    form: StateForm
    text: str
    at: TimePoint = THE_END
    partition: TopicPartition | None = None
    broker: int | None = None
    topic: str | None = None
    consumer: str | None = None

    @property
    def node(self) -> str:
        return f"broker-{self.broker}" if self.broker is not None else self.consumer or ""


def is_state_question(text: str) -> bool:
    """Return whether a text asks about a state: it has several words, and the name of an event has one."""
    return len(text.split()) > 1


def parse_question(text: str) -> StateQuestion:
    """Read a question about a state. Raises: StateQuestionError, BadTimePointError."""
    words = [word for word in text.rstrip("?").split() if word.lower() not in FILLERS]
    at = THE_END
    positions = [place for place, word in enumerate(words) if word.lower() == AT]
    if positions:
        at = parse_time_point(" ".join(words[positions[-1] + 1 :]))
        words = words[: positions[-1]]
    for template, form in TEMPLATES.items():
        found = _match(template.split(), words)
        if found is not None:
            return _question(form, found, at)
    raise StateQuestionError(f"{text!r} is no question that kcsim why knows{_hint(words)}")


def _match(template: list[str], words: list[str]) -> dict[str, str] | None:
    """Return placeholder -> word; None if the words do not have the form of the template."""
    if len(template) != len(words):
        return None
    found = {}
    for wanted, word in zip(template, words, strict=True):
        pattern = PLACEHOLDERS.get(wanted)
        if pattern is None:
            if wanted != word.lower():
                return None
        elif pattern.fullmatch(word):
            found[wanted] = word
        else:
            return None
    return found


def _question(form: StateForm, found: dict[str, str], at: TimePoint) -> StateQuestion:
    partition, consumer = found.get("PARTITION"), found.get("CONSUMER")
    topic, _, number = (partition or "").rpartition("-")
    return StateQuestion(
        form,
        _filled(form.value.split(), found),
        at,
        TopicPartition(topic, int(number)) if partition else None,
        int(found["BROKER"].removeprefix("broker-")) if "BROKER" in found else None,
        found.get("TOPIC"),
        f"consumer-{consumer.removeprefix('consumer-')}" if consumer else None,
    )


def _filled(template: list[str], found: dict[str, str]) -> str:
    return " ".join(found.get(word, word) for word in template)


def _hint(words: list[str]) -> str:
    """Return the nearest question with these subjects, or the list of all forms."""
    questions = list(dict.fromkeys(_with_subjects(words)))
    near = get_close_matches(" ".join(words).lower(), questions, n=1, cutoff=0.6)
    if near:
        return suggestion(repr(near[0]))
    return "; write one of: " + "; ".join(form.value for form in StateForm) + "; and at TIME after it"


def _with_subjects(words: list[str]) -> Iterator[str]:
    """Yield every form whose subjects are among the words, with these subjects in their places."""
    brokers = [word for word in words if PLACEHOLDERS["BROKER"].fullmatch(word)]
    partitions = [word for word in words if PLACEHOLDERS["PARTITION"].fullmatch(word) and word not in brokers]
    last = words[-1:] if words else []
    subjects = {"BROKER": brokers, "PARTITION": partitions, "TOPIC": words[1:2], "CONSUMER": words[1:2] or last}
    for template in TEMPLATES:
        needed = [word for word in template.split() if word in PLACEHOLDERS]
        if all(subjects[word] for word in needed):
            yield _filled(template.split(), {word: subjects[word][0] for word in needed})
