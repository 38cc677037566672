"""What the scenario language consists of, from the models that read it: for the reference page and `kcsim scenario words`.

Texts are the docstrings and field descriptions of the models. A reader's form of references and of literal values is given
by a ReferenceStyle, since a page has links and a terminal has not.
"""

import ast
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

from kcsim.scenarios import language
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.steps import STEPS, TimetableStep


@dataclass(frozen=True, slots=True)
class ReferenceStyle:
    """How a reader is referred to another part of the reference, and how literal values are written.

    Attributes:
        refer: name of a type, a mapping or a section, and the text to show for it -> the reference.
        literal: a value as it is written in a file -> its form in a text.
    """

    refer: Callable[[str, str], str]
    literal: Callable[[object], str]


PLAIN = ReferenceStyle(lambda _, text: text, str)


@dataclass(frozen=True, slots=True)
class KeyReference:
    """A key of a mapping: its name, what its value is, its default (empty if there is none), and what it means."""

    key: str
    value: str
    default: str
    meaning: str


def key_references(
    model: type[BaseModel], style: ReferenceStyle, without: type[BaseModel] | None = None
) -> list[KeyReference]:
    """Return the keys of a model, without those of another; the verb of a step comes first."""
    hints = get_type_hints(model, include_extras=True)
    own = [name for name in model.model_fields if without is None or name not in without.model_fields]
    if issubclass(model, ScenarioStep) and model is not ScenarioStep:
        own.sort(key=lambda name: hyphenated(name) != model.verb())
    found = []
    for name in own:
        field = model.model_fields[name]
        default = "required" if field.is_required() else _default(field, style)
        found.append(KeyReference(hyphenated(name), type_text(hints[name], style), default, field.description or ""))
    return found


def _default(field: FieldInfo, style: ReferenceStyle) -> str:
    return "" if field.default_factory is not None or field.default is None else style.literal(_as_in_file(field))


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
def named_types() -> Mapping[str, NamedType]:
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


def named_in(hint: object) -> Iterator[str]:
    """Yield the names of the documented types in a type."""
    name = _name_of(hint)
    if name is not None:
        yield name
        return
    for part in get_args(hint):
        yield from named_in(part)


def _name_of(hint: object) -> str | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((name for name, named in named_types().items() if named.hint is hint or named.hint == hint), None)


def type_text(hint: Any, style: ReferenceStyle) -> str:
    """Return a type for readers: a reference to a named type or to a mapping, or the allowed values in words."""
    if (name := _name_of(hint)) is not None:
        return style.refer(name, name)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == TimetableStep:
        return style.refer("Steps", "step")
    if origin is Annotated:
        return type_text(arguments[0], style) + _bounds(arguments[1:])
    if origin in (Union, types.UnionType):
        return " or ".join(type_text(part, style) for part in arguments if part is not types.NoneType)
    if origin is Literal:
        return " or ".join(style.literal(str(value).lower() if isinstance(value, bool) else value) for value in arguments)
    if origin in (list, tuple, Sequence):
        return f"list of {type_text(arguments[0], style)}"
    if origin in (dict, Mapping):
        return f"mapping of names to {type_text(arguments[1], style)}"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return style.refer(_section_of(hint), hint.__name__)
    return {str: "text", int: "whole number", bool: f"{style.literal('true')} or {style.literal('false')}"}[hint]


def _section_of(model: type[BaseModel]) -> str:
    return "Conditions" if model is Condition else "Steps" if issubclass(model, ScenarioStep) else model.__name__


def _bounds(extras: Sequence[object]) -> str:
    limits = [limit for extra in extras for limit in getattr(extra, "metadata", [extra])]
    least = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    most = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    if least is not None:
        return f" from {least}{f' to {most}' if most is not None else ''}"
    return ""


def reachable(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return a model and all models that its fields refer to, each once."""
    found = [model]
    for one in found:
        for hint in get_type_hints(one, include_extras=True).values():
            found += [inner for inner in dict.fromkeys(models_in(hint)) if inner not in found]
    return found


def models_in(hint: object) -> Iterator[type[Any]]:
    """Yield the models in a type."""
    if hint == TimetableStep:
        yield from STEPS
        return
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        if not isinstance(part, Tag):
            yield from models_in(part)


# --- texts -----------------------------------------------------------------------------------------------------------------


def documentation(model: type[BaseModel]) -> str:
    """Return the docstring of a model in one line."""
    return " ".join((model.__doc__ or "").split())


def summary(model: type[BaseModel]) -> str:
    """Return the first sentence of the docstring of a model."""
    return re.split(r"(?<=\.) ", documentation(model))[0]
