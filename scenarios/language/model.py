"""The base of all models of a scenario file: keys with hyphens, no unknown key, no key without a value."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo

from kcsim.scenarios.language.value_types import KnownNames
from kcsim.text import comma_separated, did_you_mean

WRITTEN_LAST = ("within", "as_", "at", "after", "when", "times", "every", "if_possible")
"""Fields that are written after all other fields of their model."""


def hyphenated(name: str) -> str:
    """Return a field's name as it is written in a file."""
    return name.rstrip("_").replace("_", "-")


def _default_of(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


class Model(BaseModel):
    """Frozen, strict, with a hint for each unknown key; a key without a value is an error."""

    key_hints: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Unknown keys that belong elsewhere -> the hint that says where."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=hyphenated,
        validate_by_alias=True,
        validate_by_name=False,
        defer_build=True,
    )

    @model_serializer(mode="wrap")
    def _serialize_model(self, say: SerializerFunctionWrapHandler, _: SerializationInfo) -> dict[str, Any]:
        """Return the model as it is written in a file: without fields that have their default value."""
        data = say(self)
        fields = type(self).model_fields.items()
        kept = [name for name, field in fields if field.is_required() or getattr(self, name) != _default_of(field)]
        kept.sort(key=lambda name: WRITTEN_LAST.index(name) if name in WRITTEN_LAST else -2 if name == "claim" else -1)
        return {alias: data[alias] for name in kept if (alias := hyphenated(name)) in data}

    @model_validator(mode="before")
    @classmethod
    def _report_unknown_keys(cls, value: object, info: ValidationInfo) -> object:
        # pydantic would report these as well, but cannot suggest the key that was meant.
        report = info.context.report if isinstance(info.context, KnownNames) else None
        if not isinstance(value, dict) or report is None:
            return value
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        for key, item in value.items():
            if key in keys and item is None and key != "data":
                report(value, key, f"{key} has no value")
            elif key not in keys:
                hint = cls.key_hints.get(str(key)) or did_you_mean(key, keys) or f"; known are {comma_separated(keys)}"
                report(value, key, f"unknown key {key!r}{hint}")
        return {key: item for key, item in value.items() if key in keys}
