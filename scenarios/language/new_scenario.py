"""The text of a new scenario: the first scenario, which explains itself, or a copy of another one."""

import re
from pathlib import Path

from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.language.schema import SCENARIO_NAME

FIRST = Path(__file__).parent / "first_scenario.yaml"


class BadNameError(ValueError):
    """The text cannot be the name of a scenario. The message says what a name looks like."""

    def __init__(self, name: str) -> None:
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        hint = f"; did you mean {near}?" if near else ""
        super().__init__(f"{name!r} cannot be a scenario's name: write small letters, digits and hyphens{hint}")


def text_for(name: str, like: str | None = None, schema: str | None = None) -> str:
    """Return the text of a new scenario with this name.

    Args:
        like: the file, or the name in the library, of the scenario to copy.
        schema: where the JSON Schema is, for editors.

    Raises: BadNameError, ScenarioFileError.
    """
    if not re.fullmatch(SCENARIO_NAME, name):
        raise BadNameError(name)
    path = FIRST if like is None else find_scenario(like)
    loaded = load_scenario(path)
    text = re.sub(r"(kcsim (?:run|scenario check)) FILE\b", rf"\1 {name}.yaml", path.read_text(encoding="utf-8"))
    named = re.sub(rf"^name:\s*['\"]?{loaded.scenario.name}\b['\"]?", f"name: {name}", text, count=1, flags=re.MULTILINE)
    return f"# yaml-language-server: $schema={schema}\n{named}" if schema else named
