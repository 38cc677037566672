"""The kinds of random scenarios: sizes of clusters, lengths of timetables, and the frequency of each action."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kcsim.brokers.config import PROTOCOL_VERSION, SettingError, parse_setting
from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION, is_known_to
from kcsim.scenarios.explore.step_generators import STEP_GENERATORS
from kcsim.scenarios.language.broker_settings import KafkaRelease
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.network_types import Probability
from kcsim.scenarios.language.value_types import Duration, validation_error
from kcsim.text import comma_separated, did_you_mean

PROFILES = Path(__file__).parent / "profiles"
STANDARD = "standard"


class ProfileError(ValueError):
    """A profile that cannot be used. The message says where and why."""


def _span(value: object) -> tuple[int, int]:
    match value:
        case [int(least), int(most)] if 0 <= least <= most and not isinstance(least, bool):
            return least, most
        case int(exactly) if exactly >= 0 and not isinstance(exactly, bool):
            return exactly, exactly
        case _:
            raise validation_error(f"{value!s} is no span; write [least, most]")


Span = Annotated[tuple[int, int], PlainValidator(_span)]
"""[least, most]; both bounds are included."""


def _weights(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} is no mapping of steps; write {{kill: 4, start: 8}}")
    for name, weight in value.items():
        if name not in STEP_GENERATORS:
            hint = did_you_mean(name, STEP_GENERATORS) or f"; there are {comma_separated(STEP_GENERATORS)}"
            raise validation_error(f"unknown step {name!r}{hint}")
        if not isinstance(weight, int) or isinstance(weight, bool) or weight < 0:
            raise validation_error(f"{name}: {weight!r} is no weight, which is a whole number from 0 on")
    if not any(value.values()):
        raise validation_error("all weights are 0")
    return dict(value)


Weights = Annotated[Mapping[str, int], PlainValidator(_weights)]


def _protocol_version(value: Any) -> str:
    try:
        return str(parse_setting(PROTOCOL_VERSION, value))
    except SettingError as error:
        raise validation_error(str(error)) from None


ProtocolVersion = Annotated[str, PlainValidator(_protocol_version)]
"""A value of inter.broker.protocol.version."""


class Profile(Model):
    """What is drawn. Each span and each list is drawn from with equal probabilities.

    Attributes:
        releases: those of the brokers; each cluster has brokers of one of them and of later ones, and protocol versions that
            all of them know. Empty: the brokers have the release that their protocol version implies.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    description: Annotated[str, Field(min_length=1)]
    brokers: Span = (3, 5)
    racks: Probability = 0.0
    topics: Span = (1, 2)
    partitions: Span = (1, 3)
    replication_factor: Span = (2, 3)
    created_later: Probability = 0.0
    steps: Span = (8, 16)
    shortest_pause: Duration = 20
    longest_pause: Duration = 4_000
    zookeeper_members: Annotated[list[int], Field(min_length=1)] = Field(default_factory=lambda: [1])
    protocol_versions: Annotated[list[ProtocolVersion], Field(min_length=1)] = Field(
        default_factory=lambda: [DEFAULT_PROTOCOL_VERSION]
    )
    releases: list[KafkaRelease] = Field(default_factory=list)
    unhealed: Probability = 0.2
    producers: Probability = 0.5
    consumers: Probability = 0.0
    weights: Weights

    @model_validator(mode="after")
    def _check_releases(self) -> "Profile":
        for release in self.releases:
            if not any(is_known_to(version, release) for version in self.protocol_versions):
                raise validation_error(f"releases: Kafka {release} knows none of the protocol versions")
        return self

    def with_weights(self, changes: Mapping[str, int]) -> "Profile":
        """Return the profile with these weights changed. Raises: ProfileError."""
        try:
            return self.model_copy(update={"weights": _weights({**self.weights, **changes})})
        except ValueError as error:
            raise ProfileError(str(error)) from None


def profile_names() -> list[str]:
    """Return the names of the profiles that come with the simulator, sorted."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def load_profile(name: str) -> Profile:
    """Read one of the simulator's profiles by its name, or a profile from a file. Raises: ProfileError."""
    path = Path(name)
    if name in profile_names():
        path = PROFILES / f"{name}.yaml"
    elif not path.is_file():
        known = profile_names()
        raise ProfileError(
            f"no profile {name!r}{did_you_mean(name, known) or f'; there are {comma_separated(known)}, or a file'}"
        )
    try:
        return Profile.model_validate(YAML(typ="safe").load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise ProfileError("\n".join(_problems(path, error))) from None
    except MarkedYAMLError as error:
        raise ProfileError(f"{path}: not YAML: {error.problem}") from None
    except (OSError, YAMLError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path}: cannot be read: {error}") from None


def _problems(path: Path, error: ValidationError) -> Iterable[str]:
    for detail in error.errors(include_url=False):
        place = ".".join(map(str, detail["loc"]))
        yield f"{path}: {place + ': ' if place else ''}{_problem_text(detail, place)}"


def _problem_text(detail: Any, place: str) -> str:
    if detail["type"] == "kcsim":
        return str(detail["ctx"]["message"])
    if detail["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in Profile.model_fields.items()]
        return f"unknown key{did_you_mean(place, known) or f'; known are {comma_separated(known)}'}"
    return str(detail["msg"])
