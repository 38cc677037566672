"""The documents agree with the product: links resolve, scenarios are valid, commands exist, outputs are those of today."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.scenario_file import load_text
from tests.documents.written_pages import (
    PROMPT,
    ROOT,
    Block,
    agrees,
    anchors,
    broken_link,
    console_parts,
    kcsim_calls,
    keep_files,
    links,
    run_on_terminal,
    shell_lines,
    split_blocks,
    tracked_documents,
)

DOCUMENTS = tracked_documents()
BLOCKS = [block for file in DOCUMENTS for block in split_blocks(file)[0]]
README_BYTES = 8 * 1024
RECORD = "if the new output is right: python -m tests.documents.written_pages {}"
SCENARIO_KEYS = ("name", "description", "cluster")


def blocks_of(*languages: str) -> list[Any]:
    return [pytest.param(block, id=str(block)) for block in BLOCKS if block.language in languages]


def checked_pages(*languages: str) -> list[str]:
    return sorted({block.file for block in BLOCKS if block.is_checked and block.language in languages})


# --- links and size ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", DOCUMENTS)
def test_every_relative_link_leads_to_a_file_and_a_heading_that_exist(file: str) -> None:
    assert [problem for target in links(file) if (problem := broken_link(file, target))] == []


def test_a_link_to_nowhere_is_found() -> None:
    assert broken_link("README.md", "docs/no-such-page.md") == "README.md: there is no docs/no-such-page.md"
    assert broken_link("README.md", "docs/glossary.md#no-such-heading") is not None
    assert broken_link("README.md", "docs/glossary.md#words-that-are-not-used") is None
    assert "glossary" in anchors("docs/glossary.md")


def test_the_readme_stays_short() -> None:
    """A newcomer reads one page. What takes longer to explain has a page of its own below docs/."""
    assert (ROOT / "README.md").stat().st_size <= README_BYTES


def test_every_page_below_docs_is_in_the_index() -> None:
    """Pages of a folder that has an index of its own are in that one."""
    pages = {file for file in DOCUMENTS if file.startswith("docs/")} - {"docs/README.md"}
    subindexes = {file.removesuffix("README.md") for file in pages if file.endswith("/README.md")}
    linked = {
        (ROOT / "docs" / target.partition("#")[0]).resolve().relative_to(ROOT).as_posix()
        for target in links("docs/README.md")
        if ":" not in target
    }
    assert {
        p for p in pages if not any(p.startswith(folder) and p != f"{folder}README.md" for folder in subindexes)
    } <= linked


@pytest.mark.parametrize("file", ["docs/architecture.md", "docs/fidelity.md", "docs/style.md", "CONTRIBUTING.md"])
def test_every_place_in_the_code_that_a_page_names_exists(file: str) -> None:
    """`controller/decisions/election.py` stands for a path of the checkout; `election.py` alone stands for no place."""
    code = r"`((?:kcsim|zk|controller|brokers|scenarios|tests|docs)/[\w./-]*)`"
    places = re.findall(code, split_blocks(file)[1])
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_name_in_the_architecture_page_is_one_of_the_code() -> None:
    """The page points into files by the names of functions, which renames would leave behind."""
    folders = ("kcsim", "zk", "controller", "brokers", "scenarios")
    source = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py"))
    named = set(re.findall(r"`(\w+)\(\)`", split_blocks("docs/architecture.md")[1]))
    assert named
    assert {name for name in named if f"def {name}(" not in source} == set()


# --- blocks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks_of("yaml"))
def test_every_scenario_in_a_document_is_valid(block: Block) -> None:
    if all(re.search(rf"^{key}:", block.text, re.MULTILINE) for key in SCENARIO_KEYS):
        load_text(block.text, str(block))
    else:
        assert not block.is_checked


@pytest.mark.parametrize("block", blocks_of("python"))
def test_every_python_example_compiles_and_imports_what_exists(block: Block) -> None:
    tree = ast.parse(block.text, str(block))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kcsim"):
            module = importlib.import_module(node.module)
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


@pytest.mark.parametrize("block", blocks_of("console", "sh"))
def test_every_command_in_a_document_exists_with_its_options(block: Block) -> None:
    """The arguments are parsed as the command would parse them. Nothing is run."""
    root = typer.main.get_command(app)
    for line in shell_lines(block):
        for arguments in kcsim_calls(line):
            parse(root, "kcsim", arguments)


def parse(command: Any, name: str, arguments: list[str], parent: Any = None) -> None:
    """Let a command, or the subcommand that is named, parse its arguments. Raises: the error of a wrong one."""
    if "--help" in arguments or "--version" in arguments:
        return
    if isinstance(command, TyperGroup) and arguments:
        context = command.make_context(name, [], parent, resilient_parsing=True)
        subcommand = command.get_command(context, arguments[0])
        assert subcommand is not None, f"{name} has no command {arguments[0]}"
        parse(subcommand, f"{name} {arguments[0]}", arguments[1:], context)
    else:
        command.make_context(name, list(arguments), parent)


def test_an_option_that_does_not_exist_is_found() -> None:
    root = typer.main.get_command(app)
    (call,) = kcsim_calls(".venv/bin/kcsim run controller-failover --no-such-option | head")
    with pytest.raises(Exception, match="No such option"):
        parse(root, "kcsim", call)


def test_blocks_in_every_language_are_known() -> None:
    """A block in a language that no test here knows would go unchecked."""
    known = {"", "console", "json", "mermaid", "python", "sh", "text", "yaml", "ini", "toml"}
    assert {str(block): block.language for block in BLOCKS if block.language not in known} == {}


# --- what is run ---------------------------------------------------------------------------------------------------------


# The tutorial's 13 commands take as long as all other pages' together; Spark takes seconds to start.
SLOW_PAGES = {"docs/tutorial.md", "docs/how-to/spark.md"}


@pytest.mark.parametrize(
    "file", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW_PAGES)) for page in checked_pages("console")]
)
def test_the_commands_of_a_page_print_what_the_page_shows(file: str, tmp_path: Path) -> None:
    keep_files(file, tmp_path)
    for block in split_blocks(file)[0]:
        if block.is_checked and block.language == "console":
            for command, shown in console_parts(block):
                printed = run_on_terminal(command, tmp_path)
                assert not shown or agrees(shown, printed), f"{block}: {PROMPT}{command}\n{printed}\n{RECORD.format(file)}"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=str(block), marks=[pytest.mark.slow] * (block.file in SLOW_PAGES))
        for block in BLOCKS
        if block.language == "python" and block.is_checked
    ],
)
def test_the_python_examples_of_a_page_run(block: Block, tmp_path: Path) -> None:
    keep_files(block.file, tmp_path)
    named = re.match(r"# (test_\w+\.py)\n", block.text)
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", named[1]] if named else ["-c", block.text]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_shows_a_scenario_and_its_verdict() -> None:
    """Its scenario is run, and the verdict compared, by the test of checked commands."""
    checked = [block.language for block in split_blocks("README.md")[0] if block.is_checked]
    assert checked == ["yaml", "console"]


def test_every_shown_output_is_compared_but_for_that_of_real_servers() -> None:
    """A console that is not checked shows what differs from run to run: a real ZooKeeper, Spark, Kafka's own brokers."""
    shown = [b for b in BLOCKS if b.language == "console" and not b.is_checked and b.file.startswith(("README", "docs/"))]
    assert [str(b) for b in shown if "not-checked" not in b.words] == []


def test_a_wrong_output_is_found() -> None:
    assert agrees(["a", "…", "d"], "a\nb\nc\nd\n")
    assert agrees(["…", "d"], "d")
    assert not agrees(["a", "…", "d"], "a\nb\nc\n")
    assert not agrees(["a", "d"], "a\nb\nd")
