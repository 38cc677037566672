"""Files that a command names: contained in the step itself, or beside the recording."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conformance.replayed.errors import NotSupportedError


@dataclass(frozen=True)
class Files:
    """The files of a command.

    Attributes:
        given: `files` of a step: name -> text, or a JSON value.
        directory: of the recording; None if it comes from no file.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    directory: Path | None = None

    def has(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        return name in self.given or (self.directory is not None and (self.directory / name).is_file())

    def text(self, name: str) -> str:
        """Return a file's text. Raises: NotSupportedError if there is no such file: the recording lacks what Kafka read."""
        if name in self.given:
            content = self.given[name]
            return content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
        path = None if self.directory is None else self.directory / name
        if path is None or not path.is_file():
            raise NotSupportedError(f"the file {name} is neither in the step nor beside the recording")
        return path.read_text(encoding="utf-8")
