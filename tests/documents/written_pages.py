"""The project's Markdown documents: their links, headings and code blocks, and the commands that the blocks show.

A block with the word `checked` after its language is run by tests/test_documents.py, in a folder that all blocks of its page
share:

- ```yaml checked: a scenario, kept there as NAME.yaml;
- ```python checked: a program, or a file of tests if its first line is `# test_NAME.py`, kept there under that name;
- ```console checked: lines after `$ ` are commands, the other lines are what the commands print on a terminal of 80
  columns. A line with nothing but `…` stands for any number of lines.

After a change of what a command prints, `python -m tests.documents.written_pages FILE…` writes the new output into the
pages. Read the difference before you commit it.
"""

import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
COLUMNS = 80
PROMPT = "$ "
ANYTHING = "…"
CHECKED = "checked"
RECORDINGS = "tests/vectors"
WITHIN_S = 600
COMMAND_ENDS = frozenset({"|", ";", "&&", "||", "&", ">", "2>", "<"})
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block.

    Attributes:
        words: what follows the language.
        line: of the opening fence, from 1.
    """

    file: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def is_checked(self) -> bool:
        return CHECKED in self.words

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def tracked_documents() -> list[str]:
    """Return the paths of all Markdown files that git knows or would take; without git, of all that lie here."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        return sorted({name for name in listing.stdout.split("\n") if name and (ROOT / name).exists()})
    hidden = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
    return sorted(str(path) for path in hidden if not any(part.startswith(".") for part in path.parts))


@cache
def split_blocks(file: str) -> tuple[tuple[Block, ...], str]:
    """Return the code blocks of a page, and its text with every line inside of a block left empty."""
    blocks: list[Block] = []
    prose: list[str] = []
    inside: list[str] | None = None
    opened = (0, "", "")
    for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").split("\n"), 1):
        fence = FENCE.match(line)
        if inside is None:
            if fence:
                inside, opened = [], (number, fence["info"], fence["indent"])
            prose.append("" if fence else line)
        elif fence and not fence["info"]:
            language, *words = opened[1].split() or [""]
            blocks.append(Block(file, opened[0], language, tuple(words), "\n".join(inside) + "\n"))
            inside = None
            prose.append("")
        else:
            inside.append(line.removeprefix(opened[2]))
            prose.append("")
    if inside is not None:
        raise ValueError(f"{file}:{opened[0]}: the block has no end")
    return tuple(blocks), "\n".join(prose)


def anchors(file: str) -> frozenset[str]:
    """Return the anchors of a page's headings, formed as GitHub forms them, and those that the page sets itself."""
    prose = split_blocks(file)[1]
    found: list[str] = re.findall(r'<a (?:id|name)="([^"]+)"', prose)
    counts: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose, re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        seen = counts.get(anchor, 0)
        counts[anchor] = seen + 1
        found.append(f"{anchor}-{seen}" if seen else anchor)
    return frozenset(found)


def links(file: str) -> list[str]:
    """Return the targets of a page's links and images, in order."""
    prose = re.sub(r"`[^`\n]*`", "", split_blocks(file)[1])
    inline = re.findall(r"\]\(<?([^)\s>]+)>?(?: +\"[^\"]*\")?\)", prose)
    return inline + re.findall(r"^ *\[[^]]+\]: +<?(\S+?)>?$", prose, re.MULTILINE)


def broken_link(file: str, target: str) -> str | None:
    """Return what is wrong with a relative link, None if nothing is. Other addresses are not looked at."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    path, _, anchor = target.partition("#")
    goal = (ROOT / file).parent / path if path else ROOT / file
    if not goal.exists():
        return f"{file}: there is no {target}"
    if anchor and anchor not in anchors(os.path.relpath(goal, ROOT)):
        return f"{file}: {path or 'this page'} has no heading #{anchor}"
    return None


# --- commands ------------------------------------------------------------------------------------------------------------


def shell_lines(block: Block) -> list[str]:
    """Return the commands of a block, with continued lines joined.

    Those of a console follow a prompt; those of a script are all lines but comments.
    """
    lines = block.text.replace("\\\n", " ").split("\n")
    if block.language == "console":
        return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def kcsim_calls(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of kcsim in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    for place, word in enumerate(words):
        is_first = place == 0 or words[place - 1] in COMMAND_ENDS
        if is_first and Path(word).name == "kcsim":
            end = next((n for n in range(place, len(words)) if words[n] in COMMAND_ENDS), len(words))
            yield words[place + 1 : end]


# --- running -------------------------------------------------------------------------------------------------------------


def run_on_terminal(command: str, folder: Path) -> str:
    """Run a line of shell on a terminal without colours, with kcsim on the PATH; return what it printed."""
    terminal, end = pty.openpty()
    ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "KCSIM_", "PYTEST"))}
    kept |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb", "NO_COLOR": "1"}
    kept.pop("COLUMNS", None)
    with subprocess.Popen(
        ["sh", "-c", command], cwd=folder, env=kept, stdin=subprocess.DEVNULL, stdout=end, stderr=end
    ) as running:
        os.close(end)
        printed = b""
        while part := _read(terminal):
            printed += part
        os.close(terminal)
        running.wait(WITHIN_S)
    lines = printed.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of a terminal as an error
        return b""


def console_parts(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a console with the lines that follow each."""
    parts: list[tuple[str, list[str]]] = []
    continues = False
    for line in block.text.rstrip("\n").split("\n"):
        if continues:
            parts[-1] = (parts[-1][0] + "\n" + line, [])
        elif line.startswith(PROMPT):
            parts.append((line.removeprefix(PROMPT), []))
        else:
            parts[-1][1].append(line)
        continues = line.endswith("\\") and not parts[-1][1]
    return parts


def agrees(shown: Sequence[str], printed: str) -> bool:
    """Return whether a command printed what a page shows of it."""
    pattern = "\n".join("@ANY@" if line == ANYTHING else re.escape(line.rstrip()) for line in shown)
    pattern = pattern.replace("@ANY@\n", "(?:.*\n)*").replace("\n@ANY@", "(?:\n.*)*").replace("@ANY@", "(?:.*\n?)*")
    return re.fullmatch(pattern, printed.strip("\n")) is not None


def keep_files(file: str, folder: Path) -> None:
    """Write the checked scenarios and test files of a page into a folder; link the recordings that its commands read."""
    for block in split_blocks(file)[0]:
        if block.is_checked and RECORDINGS in block.text and not (folder / RECORDINGS).exists():
            (folder / RECORDINGS).parent.mkdir()
            (folder / RECORDINGS).symlink_to(ROOT / RECORDINGS)
        if block.is_checked and block.language == "yaml":
            (name,) = re.findall(r"^name: (\S+)$", block.text, re.MULTILINE)
            (folder / f"{name}.yaml").write_text(block.text, encoding="utf-8")
        elif block.is_checked and block.language == "python" and (named := re.match(r"# (test_\w+\.py)\n", block.text)):
            (folder / named[1]).write_text(block.text, encoding="utf-8")


def _shortened_alike(shown: Sequence[str], printed: str) -> list[str]:
    """Return the new output with as many lines before and after its one `…` as the page shows now."""
    lines = printed.strip("\n").split("\n")
    if not shown:
        return []
    if ANYTHING not in shown:
        return lines
    if shown.count(ANYTHING) > 1:
        raise SystemExit(f"more than one {ANYTHING} in the output of a command: shorten it by hand")
    before = shown.index(ANYTHING)
    after = len(shown) - before - 1
    return [*lines[:before], ANYTHING, *lines[len(lines) - after :]]


def record(file: str) -> None:
    """Write what the checked commands of a page print now into the page."""
    page = (ROOT / file).read_text(encoding="utf-8")
    with TemporaryDirectory() as name:
        keep_files(file, Path(name))
        for block in split_blocks(file)[0]:
            if not (block.is_checked and block.language == "console"):
                continue
            text = ""
            for command, shown in console_parts(block):
                printed = run_on_terminal(command, Path(name))
                lines = shown if agrees(shown, printed) else _shortened_alike(shown, printed)
                text += "\n".join([PROMPT + command, *lines]) + "\n"
            page = page.replace(block.text, text)
    (ROOT / file).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for page_name in sys.argv[1:]:
        record(page_name)
