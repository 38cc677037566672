"""docs/reference/scenario-schema.md: the keys of a scenario file, from the models that read it."""

import ast
import inspect
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

from kcsim.brokers.clients.consumer_config import CONSUMER_SETTINGS, ConsumerConfig
from kcsim.brokers.clients.producer_config import PRODUCER_SETTINGS, ProducerConfig
from kcsim.brokers.config import KAFKA_NAMES, BrokerConfig
from kcsim.brokers.invariants import INVARIANTS
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS
from kcsim.controller.protections import PROTECTIONS
from kcsim.scenarios import language
from kcsim.scenarios.language.conditions_model import Condition, Expectation, WaitFor
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.steps import STEPS, TimetableStep
from tests.documents.markdown import anchor, bullets, code, fenced, link, paragraph, table
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
    yield bullets(f"{link(step.verb())}: {_summary(step)}" for step in STEPS)
    yield "### Keys of every step"
    yield _fields(ScenarioStep)
    yield paragraph(NAMED_NOTE)
    yield _fields(NamingStep, without=ScenarioStep)
    for step in STEPS:
        yield f"### {step.verb()}"
        yield paragraph(_documentation(step))
        yield _fields(step, without=NamingStep if issubclass(step, NamingStep) else ScenarioStep)
        if issubclass(step, NamingStep):
            yield "May give its target a name with `as`."


def _conditions() -> Iterator[str]:
    yield paragraph(CONDITIONS_NOTE)
    yield _fields(Condition)
    yield "### Expectation"
    yield paragraph(f"{_documentation(Expectation)} In `expect`, a condition may also have:")
    yield _fields(Expectation, without=Condition)
    yield "### WaitFor"
    yield paragraph(f"{_documentation(WaitFor)} In `wait` and `when`, a condition may also have:")
    yield _fields(WaitFor, without=Condition)


def _mappings() -> Iterator[str]:
    yield paragraph("Mappings that stand as the value of a key.")
    models = {
        model.__name__: model for model in _reachable(Scenario) if model not in OWN and not issubclass(model, ScenarioStep)
    }
    for _, model in sorted(models.items()):
        yield f"### {model.__name__}"
        yield from _model(model)


def _model(model: type[BaseModel]) -> Iterator[str]:
    yield paragraph(_documentation(model))
    yield _fields(model)


def _values() -> Iterator[str]:
    used = {
        name
        for model in _reachable(Scenario)
        for hint in get_type_hints(model, include_extras=True).values()
        for name in _named(hint)
    }
    for name in sorted(used):
        yield f"### {name}"
        yield paragraph(_named_types()[name].documentation)


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


# --- fields ----------------------------------------------------------------------------------------------------------------


def _fields(model: type[BaseModel], without: type[BaseModel] | None = None) -> str:
    hints = get_type_hints(model, include_extras=True)
    own = [name for name in model.model_fields if without is None or name not in without.model_fields]
    if issubclass(model, ScenarioStep) and model is not ScenarioStep:
        own.sort(key=lambda name: hyphenated(name) != model.verb())  # the verb comes first
    rows = []
    for name in own:
        field = model.model_fields[name]
        rows.append((code(hyphenated(name)), _type_text(hints[name]), _default(field), field.description or ""))
    return table(("key", "value", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None or field.default is None:
        return ""
    return code(_as_in_file(field))


def _as_in_file(field: FieldInfo) -> str:
    """Return a default as it is written in a file."""
    serialized = field.default
    for extra in field.metadata:
        if hasattr(extra, "func") and type(extra).__name__ == "PlainSerializer":
            serialized = extra.func(serialized)
    return str(serialized).lower() if isinstance(serialized, bool) else str(serialized)


# --- types -----------------------------------------------------------------------------------------------------------------


class NamedType:
    """A type of values with a name in the modules of the language, and the text that documents it there."""

    def __init__(self, hint: object, documentation: str) -> None:
        self.hint = hint
        self.documentation = documentation


@cache
def _named_types() -> Mapping[str, NamedType]:
    """Return the types of values that the modules of the language define and document."""
    found: dict[str, NamedType] = {}
    for file in sorted(Path(language.__file__).parent.glob("*.py")):
        module = sys.modules.get(f"{language.__name__}.{file.stem}")
        if module is None:
            continue
        body = ast.parse(inspect.getsource(module)).body
        for statement, following in pairwise(body):
            match statement, following:
                case ast.Assign(targets=[ast.Name(name)]), ast.Expr(ast.Constant(str(text))):
                    hint = getattr(module, name)
                    if get_origin(hint) is Annotated:
                        found[name] = NamedType(hint, " ".join(text.split()))
    return found


def _named(hint: object) -> Iterator[str]:
    """Yield the names of the documented types in a type."""
    name = _name_of(hint)
    if name is not None:
        yield name
        return
    for part in get_args(hint):
        yield from _named(part)


def _name_of(hint: object) -> str | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((name for name, named in _named_types().items() if named.hint is hint or named.hint == hint), None)


def _type_text(hint: Any) -> str:
    """Return a type for readers: a link to a named type or to a mapping, or the allowed values in words."""
    if (name := _name_of(hint)) is not None:
        return link(name)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == TimetableStep:
        return link("Steps", "step")
    if origin is Annotated:
        return _type_text(arguments[0]) + _bounds(arguments[1:])
    if origin in (Union, types.UnionType):
        return " or ".join(_type_text(part) for part in arguments if part is not types.NoneType)
    if origin is Literal:
        return " or ".join(code(str(value).lower() if isinstance(value, bool) else value) for value in arguments)
    if origin in (list, tuple, Sequence):
        return f"list of {_type_text(arguments[0])}"
    if origin in (dict, Mapping):
        return f"mapping of names to {_type_text(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"[{hint.__name__}](#{_section_of(hint)})"
    return {str: "text", int: "whole number", bool: "`true` or `false`"}[hint]


def _section_of(model: type[BaseModel]) -> str:
    return "conditions" if model is Condition else "steps" if issubclass(model, ScenarioStep) else anchor(model.__name__)


def _bounds(extras: Sequence[object]) -> str:
    limits = [limit for extra in extras for limit in getattr(extra, "metadata", [extra])]
    least = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    most = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    if least is not None:
        return f" from {least}{f' to {most}' if most is not None else ''}"
    return ""


def _reachable(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return a model and all models that its fields refer to, each once."""
    found = [model]
    for one in found:
        for hint in get_type_hints(one, include_extras=True).values():
            found += [inner for inner in dict.fromkeys(_members(hint)) if inner not in found]
    return found


def _members(hint: object) -> Iterator[type[Any]]:
    """Yield the models in a type."""
    if hint == TimetableStep:
        yield from STEPS
        return
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        if not isinstance(part, Tag):
            yield from _members(part)


# --- texts -----------------------------------------------------------------------------------------------------------------


def _documentation(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _summary(model: type[BaseModel]) -> str:
    return re.split(r"(?<=\.) ", _documentation(model))[0]
