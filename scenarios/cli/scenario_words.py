"""The words of the scenario language as entries of a reference, for `kcsim scenario words`."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from kcsim.scenarios.language.conditions_model import Condition, Expectation, WaitFor
from kcsim.scenarios.language.language_reference import (
    PLAIN,
    KeyReference,
    documentation,
    key_references,
    models_in,
    named_in,
    named_types,
    reachable,
    summary,
)
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.steps import STEPS

Entries = Sequence[tuple[str, str]]
STEP_WORD, EXPECTATION_WORD = "step", "expect"
"""Words for the keys of every step, and of every expectation."""


def all_words() -> Mapping[str, Entries]:
    """Return heading -> the words below it, each with its meaning."""
    steps = [(step.verb(), summary(step)) for step in STEPS]
    conditions = [(key.key, key.meaning) for key in key_references(Condition, PLAIN)]
    return {
        "A scenario file has the keys:": [(key.key, key.meaning) for key in key_references(Scenario, PLAIN)],
        "Steps of its timetable:": [*steps, (STEP_WORD, "The keys of every step.")],
        "Conditions, in wait, when and expect:": [*conditions, (EXPECTATION_WORD, "The other keys of an expectation.")],
    }


def explained(word: str) -> Mapping[str, Entries]:
    """Return what a word of the language means: heading -> entries; empty if there is no such word."""
    verbs = {step.verb(): step for step in STEPS}
    models = {model.__name__: model for model in reachable(Scenario)}
    if word in verbs:
        return _step(verbs[word])
    if word == STEP_WORD:
        return _with_types(f"{word}: {summary(ScenarioStep)}", key_references(NamingStep, PLAIN), NamingStep)
    if word == EXPECTATION_WORD:
        keys = key_references(Expectation, PLAIN, Condition)
        return _with_types(f"{word}: {documentation(Expectation)}", keys, Expectation)
    for model in (Condition, Scenario):
        for key in key_references(model, PLAIN):
            if key.key == word:
                return _with_types(f"{word}: {key.meaning}", [key], model)
    if word in models:
        return _with_types(f"{word}: {documentation(models[word])}", key_references(models[word], PLAIN), models[word])
    if word in named_types():
        return {f"{word}: {named_types()[word].documentation}": []}
    return {}


def _step(step: type[ScenarioStep]) -> Mapping[str, Entries]:
    base = NamingStep if issubclass(step, NamingStep) else ScenarioStep
    keys = key_references(step, PLAIN, base)
    others = ", ".join(hyphenated(name) for name in base.model_fields)
    more: Mapping[str, Entries] = {f"Every such step may have: {others} (kcsim scenario words {STEP_WORD})": []}
    return {**_with_types(f"{step.verb()}: {documentation(step)}", keys, step), **more}


def _with_types(heading: str, keys: Sequence[KeyReference], model: type[BaseModel]) -> Mapping[str, Entries]:
    """Return the keys as entries, and below them the types of values and the mappings that their values refer to."""
    found: dict[str, Entries] = {heading: [(_head(key), key.meaning) for key in keys]}
    fields = {hyphenated(name): name for name in model.model_fields}
    hints = {key.key: model.model_fields[fields[key.key]].rebuild_annotation() for key in keys if key.key in fields}
    types = {name: named_types()[name].documentation for hint in hints.values() for name in named_in(hint)}
    if types:
        found["Values:"] = list(types.items())
    shown = (model, Condition)
    inside = {name: one for hint in hints.values() for name, one in _models_in(hint).items() if one not in shown}
    for name, one in inside.items():
        inner = key_references(one, PLAIN, WITHOUT.get(one))
        found[f"{name}: {documentation(one)}"] = [(_head(key), key.meaning) for key in inner]
    return found


WITHOUT: Mapping[type[BaseModel], type[BaseModel]] = {WaitFor: Condition, Expectation: Condition}
"""Models of which only the keys are shown that another one does not have."""


def _head(key: KeyReference) -> str:
    required = ", required" if key.default == "required" else f", {key.default} if not given" if key.default else ""
    return f"{key.key}: {key.value}{required}"


def _models_in(hint: object) -> Mapping[str, type[BaseModel]]:
    return {model.__name__: model for model in models_in(hint) if not issubclass(model, ScenarioStep)}
