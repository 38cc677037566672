"""docs/reference/scenario-schema.md: the keys of a scenario file, from the models that read it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_type_hints

from pydantic import BaseModel

from kcsim.brokers.clients.consumer_config import CONSUMER_SETTINGS, ConsumerConfig
from kcsim.brokers.clients.producer_config import PRODUCER_SETTINGS, ProducerConfig
from kcsim.brokers.config import KAFKA_NAMES, BrokerConfig
from kcsim.brokers.invariants import INVARIANTS
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS
from kcsim.controller.protections import PROTECTIONS
from kcsim.scenarios import language
from kcsim.scenarios.language.conditions_model import Condition, Expectation, WaitFor
from kcsim.scenarios.language.language_reference import (
    ReferenceStyle,
    documentation,
    key_references,
    named_in,
    named_types,
    reachable,
    summary,
)
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.steps import STEPS
from tests.documents.markdown import bullets, code, fenced, link, paragraph, table
from tests.documents.markdown import page as page_of

INTRODUCTION = """A scenario is a YAML file: a cluster, a timetable of steps, and expectations. This page lists every key,
every step
and every condition. `kcsim scenario new NAME` writes a small scenario with explanations, `kcsim scenario check FILE` finds
the
mistakes in one, and `kcsim scenario schema` prints the same schema for editors. Examples: [scenario
library](scenarios.md)."""

FIRST = Path(language.__file__).parent / "first_scenario.yaml"

STEPS_NOTE = """A step has one verb with its targets, and may have the keys of every step. Steps are executed one after the
other:
each begins when the step before it is done, unless `at`, `after` or `when` says otherwise."""
NAMED_NOTE = """A step done to one broker or server may give it a name, by which later steps and expectations refer to it."""
CONDITIONS_NOTE = """A condition is a mapping of the following keys; everything that is given must hold at the same moment.
`wait` and
`when` wait for one, and an expectation judges one when the timetable is done."""
SETTINGS_NOTE = """Settings have Kafka's dotted names, and Kafka's defaults where a scenario does not set them. Any other
setting is refused."""
OWN = (ScenarioStep, NamingStep, Condition, Expectation, WaitFor, Scenario)
"""Models with a section of their own; the others are in the section of mappings."""


def page() -> str:
    sections = {
        "The file": _model(Scenario),
        "Steps": _steps(),
        "Conditions": _conditions(),
        "Mappings": _mappings(),
        "Values": _values(),
        "Kafka's settings": _settings(),
        "Protections": _protections(),
        "Invariants": _invariants(),
        "Example": [
            paragraph("The file that `kcsim scenario new` writes:"),
            fenced(FIRST.read_text(encoding="utf-8"), "yaml"),
        ],
    }
    parts = (part for heading, inside in sections.items() for part in (f"## {heading}", *inside))
    return page_of("scenario-schema.md", "Scenario language", INTRODUCTION, bullets(map(link, sections)), *parts)


# --- sections --------------------------------------------------------------------------------------------------------------


def _steps() -> Iterator[str]:
    yield paragraph(STEPS_NOTE)
    yield bullets(f"{link(step.verb())}: {summary(step)}" for step in STEPS)
    yield "### Keys of every step"
    yield _fields(ScenarioStep)
    yield paragraph(NAMED_NOTE)
    yield _fields(NamingStep, without=ScenarioStep)
    for step in STEPS:
        yield f"### {step.verb()}"
        yield paragraph(documentation(step))
        yield _fields(step, without=NamingStep if issubclass(step, NamingStep) else ScenarioStep)
        if issubclass(step, NamingStep):
            yield "May give its target a name with `as`."


def _conditions() -> Iterator[str]:
    yield paragraph(CONDITIONS_NOTE)
    yield _fields(Condition)
    yield "### Expectation"
    yield paragraph(f"{documentation(Expectation)} In `expect`, a condition may also have:")
    yield _fields(Expectation, without=Condition)
    yield "### WaitFor"
    yield paragraph(f"{documentation(WaitFor)} In `wait` and `when`, a condition may also have:")
    yield _fields(WaitFor, without=Condition)


def _mappings() -> Iterator[str]:
    yield paragraph("Mappings that stand as the value of a key.")
    models = {
        model.__name__: model for model in reachable(Scenario) if model not in OWN and not issubclass(model, ScenarioStep)
    }
    for _, model in sorted(models.items()):
        yield f"### {model.__name__}"
        yield from _model(model)


def _model(model: type[BaseModel]) -> Iterator[str]:
    yield paragraph(documentation(model))
    yield _fields(model)


def _values() -> Iterator[str]:
    used = {
        name
        for model in reachable(Scenario)
        for hint in get_type_hints(model, include_extras=True).values()
        for name in named_in(hint)
    }
    for name in sorted(used):
        yield f"### {name}"
        yield paragraph(named_types()[name].documentation)


def _settings() -> Iterator[str]:
    yield paragraph(SETTINGS_NOTE)
    broker = BrokerConfig()
    for heading, names, configs in (
        ("Settings of brokers", KAFKA_NAMES, (broker, broker.controller)),
        ("Settings of producers", PRODUCER_SETTINGS, (ProducerConfig(),)),
        ("Settings of consumers", CONSUMER_SETTINGS, (ConsumerConfig(),)),
    ):
        yield f"### {heading}"
        yield table(("setting", "default"), ((code(name), _default_of_setting(name, configs)) for name in sorted(names)))
    yield "### Settings of topics"
    yield paragraph(f"A topic may have of its own: {', '.join(map(code, sorted(TOPIC_SETTINGS)))}.")


def _default_of_setting(name: str, configs: Iterable[object]) -> str:
    field = name.replace(".", "_")
    default = next(getattr(config, field) for config in configs if hasattr(config, field))
    return "unset" if default is None else code(str(default).lower() if isinstance(default, bool) else default)


def _protections() -> Iterator[str]:
    yield "Checks of Kafka that a scenario may switch `off`, to show what they prevent. Each is `on` by default."
    yield table(
        ("protection", "source", "on", "off"),
        ((code(p.name), p.source, p.with_it, p.without_it) for p in PROTECTIONS),
    )


def _invariants() -> Iterator[str]:
    yield "What must hold of every run. `invariants: all` is the default; `none`, a list, or `{except: […]}` selects fewer."
    yield table(("invariant", "claim"), ((code(invariant.name), invariant.claim) for invariant in INVARIANTS))


# --- keys ------------------------------------------------------------------------------------------------------------------


def _fields(model: type[BaseModel], without: type[BaseModel] | None = None) -> str:
    rows = ((code(found.key), found.value, found.default, found.meaning) for found in key_references(model, LINKED, without))
    return table(("key", "value", "default", "meaning"), rows)


LINKED = ReferenceStyle(link, code)
