"""Names are words that a Kafka engineer knows: the glossary lists the words that are not used."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("kcsim", "zk", "controller", "brokers", "scenarios")
GLOSSARY = ROOT / "docs" / "glossary.md"


def banned_words() -> frozenset[str]:
    """Return the first column of the glossary's table of words that are not used."""
    table = GLOSSARY.read_text().partition("## Words that are not used")[2]
    rows = re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE)
    return frozenset(word for row in rows for word in row.split(", ")) - {"not"}


def words_of(name: str) -> set[str]:
    """Return the words of a name: `AdminAct`, `admin_act` and `ADMIN_ACT` consist of the words admin and act."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def files_of(*folders: str) -> Iterator[Path]:
    """Yield Python files, each once: the packages in kcsim/ are links."""
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if file.resolve() == file:
                yield file


def names_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name that a file defines or uses, with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield line, node.name
            case ast.Name():
                yield line, node.id
            case ast.Attribute():
                yield line, node.attr
            case ast.arg():
                yield line, node.arg
            case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)):
                yield line, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield line, name
            case ast.alias():
                yield from ((line, part) for part in (*node.name.split("."), node.asname or ""))


def names_in_javascript(text: str) -> Iterator[tuple[int, str]]:
    """Yield every word of JavaScript code with its line: identifiers and keywords, neither comments nor texts.

    The code inside `${…}` of a template is read, and so are the templates in it. A regular expression is read as code.
    """
    token = re.compile(
        r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<name>[A-Za-z_$][\w$]*)|(?P<mark>[`{}])""",
        re.DOTALL,
    )
    in_template = re.compile(r"(?:\\.|(?!\$\{)[^`\\])*(?P<mark>`|\$\{)", re.DOTALL)
    place = 0
    opened: list[str] = []  # the brackets and templates around the place: "{", "${" or "`"
    while found := (in_template if opened[-1:] == ["`"] else token).search(text, place):
        place, groups = found.end(), found.groupdict()
        if name := groups.get("name"):
            yield text.count("\n", 0, found.start()) + 1, name
        elif mark := groups["mark"]:
            if mark == "}" or (mark == "`" and opened[-1:] == ["`"]):
                opened.pop()
            else:
                opened.append(mark)
    assert opened == []


def test_the_glossary_lists_words() -> None:
    assert {"told", "deed", "wish"} <= banned_words()


@pytest.mark.parametrize("folder", [*PRODUCT, "tests"])
def test_no_name_contains_a_word_that_is_not_used(folder: str) -> None:
    banned = banned_words()
    found = []
    for file in files_of(folder):
        place = file.relative_to(ROOT)
        found += [f"{place}: file or folder {part}" for part in place.with_suffix("").parts if words_of(part) & banned]
        names = dict.fromkeys(names_in(ast.parse(file.read_text())))
        found += [f"{place}:{line}: {name}" for line, name in names if words_of(name) & banned]
    assert found == []


def test_names_of_javascript_are_read_without_comments_and_texts() -> None:
    text = """const told = /* deed */ `${of.wish} tell ${{ a: `mind ${tale}` }.a} said`; // blame
    "\\" spell"; 'struck'; #isTold = {}"""
    assert [*names_in_javascript(text)] == [
        (1, "const"),
        (1, "told"),
        (1, "of"),
        (1, "wish"),
        (1, "a"),
        (1, "tale"),
        (1, "a"),
        (2, "isTold"),
    ]


def test_no_name_in_javascript_contains_a_word_that_is_not_used() -> None:
    banned = banned_words()
    files = [file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*.js")) if file.resolve() == file]
    assert len(files) > 10
    found = []
    for file in files:
        names = dict.fromkeys(names_in_javascript(file.read_text()))
        found += [f"{file.relative_to(ROOT)}:{line}: {name}" for line, name in names if words_of(name) & banned]
    assert found == []


def test_no_class_of_the_product_has_the_name_of_another() -> None:
    """A name is read without its file."""
    places = defaultdict(list)
    for file in files_of(*PRODUCT):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_place_that_the_glossary_names_is_there() -> None:
    places = re.findall(r"`([\w./-]+/(?:[\w.-]+\.py)?)`", GLOSSARY.read_text())
    assert len(places) > 20
    assert [place for place in places if not (ROOT / place).exists()] == []
