"""docs/reference/cli.md: every command of kcsim, from the definitions that its own --help is printed from."""

import inspect
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from typer.main import get_command

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.command_exit import ExitStatus
from tests.documents.markdown import bullets, code, fenced, link, paragraph, table
from tests.documents.markdown import page as page_of
from tests.scenarios.cli.bad_ends import BAD_ENDS

INTRODUCTION = """Every command of `kcsim`, with its arguments, options and exit statuses. `kcsim COMMAND --help` prints
the same on a
terminal. Tables are printed on stdout, progress on stderr; `--output json` is for programs."""

PREFORMATTED = "\b"
"""The mark before lines of a help text that are not to be wrapped: examples and lists."""


def page() -> str:
    root = get_command(app)
    commands = list(_commands(root, ("kcsim",)))
    contents = bullets(f"{link(' '.join(names))}: {_summary(command)}" for names, command in commands)
    sections = (part for names, command in commands for part in _section(names, command))
    return page_of(
        "cli.md",
        "Command line",
        INTRODUCTION,
        "## Exit statuses",
        STATUS_NOTE,
        _statuses(),
        "## Bad ends",
        BAD_ENDS_NOTE,
        _bad_ends(),
        "## Commands",
        contents,
        *sections,
    )


STATUS_NOTE = paragraph(
    "The statuses mean the same in every command. Where a command says more of its own, its section has it."
)


BAD_ENDS_NOTE = paragraph(
    "Each of these is tried by a test. The message is all that is printed on stderr; … stands for any text. A signal in the"
    " first hundredths of a second, while Python itself starts, ends the process without a line."
)


def _bad_ends() -> str:
    rows = ((end.title, code(int(end.status)), code(end.message) if end.message else "none") for end in BAD_ENDS)
    return table(("what", "status", "message"), rows)


def _statuses() -> str:
    return table(("status", "meaning"), ((code(int(status)), status.meaning) for status in ExitStatus))


def _commands(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, depth first, in the order of --help."""
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield (*names, name), inner
            yield from _commands(inner, (*names, name))


def _summary(command: Any) -> str:
    return _paragraphs(command)[0]


def _paragraphs(command: Any) -> Sequence[str]:
    """Return the paragraphs of a help text; examples begin with PREFORMATTED."""
    text = inspect.cleandoc(command.help or "").replace(f"{PREFORMATTED}\n", f"\n\n{PREFORMATTED}")
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def _section(names: tuple[str, ...], command: Any) -> Iterator[str]:
    yield f"### {' '.join(names)}"
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and "--help" not in p.opts]
    summary, *more = _paragraphs(command)
    yield paragraph(_literal(summary))
    inner = getattr(command, "commands", {})
    if not inner:
        yield fenced(" ".join((*names, *(["[OPTIONS]"] if options else []), *map(_argument_in_usage, arguments))))
    for part in more:
        yield from _more(part)
    if inner:
        yield "Commands: " + ", ".join(link(" ".join((*names, name)), name) for name in inner)
        return
    yield table(("argument", "meaning"), ((code(_name(p)), _literal(p.help or "")) for p in arguments))
    yield table(("option", "default", "meaning"), map(_option_row, options))


def _more(part: str) -> Iterator[str]:
    """Yield a paragraph of a help text: examples, exit statuses as a list, or text."""
    lines = part.removeprefix(PREFORMATTED)
    if part.startswith(PREFORMATTED) and not lines.startswith("kcsim "):
        yield fenced(lines)
    elif part.startswith(PREFORMATTED):
        yield "Examples:"
        yield fenced(lines, "sh")
    elif part.startswith("Exit status: "):
        yield "Exit status:"
        each = re.split(r",\s+(?=(?:1|2|64|130)\s)", part.removeprefix("Exit status: ").rstrip("."))
        yield bullets(re.sub(r"^(\d+)\s+", r"`\1`: ", one) for one in each)
    else:
        yield paragraph(_literal(part))


def _literal(text: str) -> str:
    """Return a help text with <…> and *, which Markdown would take for its own, escaped outside inline code."""
    parts = text.split("`")
    return "`".join(part if place % 2 else re.sub(r"([<*])", r"\\\1", part) for place, part in enumerate(parts))


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.strip("_").replace("_", "-").upper())


def _argument_in_usage(argument: Any) -> str:
    name = _name(argument) + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _option_row(option: Any) -> tuple[str, str, str]:
    names = ", ".join(code(opt) for opt in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {code(_value(option))}"
    return names + value, _default(option), _literal(option.help or "") + _repeatable(option)


def _repeatable(option: Any) -> str:
    return " Can be given several times." if option.multiple and "several times" not in (option.help or "") else ""


def _value(option: Any) -> str:
    """Return what stands for an option's value: its metavar, its choices, or the name of its type."""
    annotation = option.type_descriptor.annotation
    if option.metavar:
        return str(option.metavar)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(choice.value) for choice in annotation)
    return {"int": "NUMBER", "float": "NUMBER", "Path": "PATH"}.get(getattr(annotation, "__name__", ""), "TEXT")


def _default(option: Any) -> str:
    default = option.default.value if isinstance(option.default, Enum) else option.default
    if option.required:
        return "required"
    if option.is_flag and not option.secondary_opts:
        return ""
    if option.is_flag:
        return code(option.opts[0] if default else option.secondary_opts[0])
    return "" if default is None or default in ((), []) or callable(default) else code(default)
