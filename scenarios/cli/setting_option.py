"""--setting NAME=VALUE: a broker's setting, checked as in a scenario file; --hardening."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.brokers.config import Value

SettingsOfAllBrokers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        autocompletion=completion.settings,
        help="A setting of all brokers, from the beginning; may be repeated.",
    ),
]
HardeningOption = Annotated[
    bool,
    typer.Option(
        "--hardening",
        help="Let controller and brokers do what Kafka's do not, to survive faulty znodes and requests that cannot be "
        "fulfilled.",
    ),
]


def parse_settings(texts: "Iterable[str] | None") -> "dict[str, Value]":
    """Return the settings by name; of a name that is given twice, the last value. If one is invalid, end the command."""
    return dict(map(_setting, texts or ()))


def _setting(text: str) -> "tuple[str, Value]":
    from kcsim.brokers.config import SETTING_TYPES, SettingError, parse_setting
    from kcsim.text import did_you_mean

    name, equals, value = text.partition("=")
    if not equals:
        fail(f"--setting: {text!r} has no value; write zookeeper.session.timeout.ms=2000", ExitStatus.USAGE)
    if name not in SETTING_TYPES:
        fail(f"--setting: unknown setting {name!r}{did_you_mean(name, SETTING_TYPES)}", ExitStatus.USAGE)
    try:
        return name, parse_setting(name, value)
    except SettingError as error:
        fail(f"--setting: {error}", ExitStatus.USAGE)
