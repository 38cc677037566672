"""No constructor of these packages takes more than six parameters: who needs more has more than one job, or groups them.

Counted are the parameters of each `__init__` in the source, besides self, and for a dataclass that is not frozen the fields
that have no default. Not counted are records, whose fields are the content of a value and not what an object works with:
frozen dataclasses, NamedTuples and pydantic models, which have no `__init__` of their own.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("kcsim/eventlog", "kcsim/runtime", "kcsim/znodes", "zk", "controller", "brokers", "scenarios")
MOST = 6


def classes(package: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield each class of a package, after the path of its file."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield str(path.relative_to(ROOT)), node


def parameter_count(node: ast.ClassDef) -> int:
    """Return how many parameters the constructor of a class takes; 0 for a record and for a class without one."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            given = statement.args
            named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            return len(named) - 1 + (given.vararg is not None) + (given.kwarg is not None)
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if any(d.startswith("dataclass") and "frozen=True" not in d for d in decorators):
        return sum(isinstance(field, ast.AnnAssign) and field.value is None for field in node.body)
    return 0


@pytest.mark.parametrize("package", PACKAGES)
def test_no_constructor_takes_more_than_six_parameters(package: str) -> None:
    """A long list of collaborators hides which of them a class needs, and every user of the class pays for all of them."""
    found = {f"{path}: {node.name}": parameter_count(node) for path, node in classes(package)}
    assert found, f"{package} has no classes: the test looks in the wrong place"
    assert {name: count for name, count in found.items() if count > MOST} == {}


def test_what_counts_as_a_parameter() -> None:
    """The rule that tells services from records, on one example of each."""
    examples = ast.parse(
        """
class Service:
    def __init__(self, a, b, *, c, **others): ...

@dataclass
class State:
    given: int
    filled_later: int = 0

@dataclass(frozen=True, slots=True)
class Value:
    a: int
    b: int

class Row(NamedTuple):
    a: int
"""
    )
    counted = {node.name: parameter_count(node) for node in examples.body if isinstance(node, ast.ClassDef)}
    assert counted == {"Service": 4, "State": 1, "Value": 0, "Row": 0}
