"""What all parts of a scenario file have in common: keys with hyphens, no unknown key, no key without a value."""

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from kcsim.scenarios.language.words import KnownNames, did_you_mean, listed


def hyphenated(name: str) -> str:
    """A field's name as a file has it."""
    return name.rstrip("_").replace("_", "-")


class Model(BaseModel):
    """Frozen, strict, with a hint for each unknown key; a key without a value is an error."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", alias_generator=hyphenated, validate_by_alias=True, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _report_unknown_keys(cls, value: object, info: ValidationInfo) -> object:
        # pydantic would report these as well, but cannot know which word was meant.
        report = info.context.report if isinstance(info.context, KnownNames) else None
        if not isinstance(value, dict) or report is None:
            return value
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        for key, item in value.items():
            if key in keys and item is None and key != "data":
                report(value, key, f"{key} has no value")
            elif key not in keys:
                report(value, key, f"unknown key {key!r}{did_you_mean(key, keys) or f'; known are {listed(keys)}'}")
        return {key: item for key, item in value.items() if key in keys}
