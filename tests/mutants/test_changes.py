"""Which faults are put into a module."""

from textwrap import dedent

import pytest

from tests.mutants.changes import changes_of


def faults(code: str) -> list[str]:
    """Return each fault as `before -> after`, without the module's name."""
    return [change.name.split(": ", 1)[1] for change in changes_of("m.py", dedent(code))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a == b", ["a != b"]),
        ("a <= b < c", ["a < b < c", "a <= b <= c"]),
        ("a is not b", ["a is b"]),
        ("a in b and c", ["a not in b and c", "a in b or c"]),
        ("not a", ["a"]),
        ("a + 1", ["a - 1", "a + 2"]),
        ("LIMIT_MS = 30_000", ["LIMIT_MS = 60000"]),
        ("f(x=True)", ["f(x=False)", "pass"]),
        ("f('1 == 2')", ["pass"]),
        ("f'{a == b}'", []),
        ("a = 'text' + b", []),
        ("self.a = b", ["pass"]),
        ("a = b", []),
        ("a += b", ["pass"]),
        ("del a[b]", ["pass"]),
        ("raise Error(1 + 1)", ["pass"]),
        ("zip(a, b, strict=True)", ["pass"]),
        ("assert a == b", []),
        ("x: Literal[1] = 2", ["x: Literal[1] = 3"]),
        ("[a for a in b if c]", ["[a for a in b if (not (c))]"]),
        ("ä == b", ["ä != b"]),
    ],
)
def test_faults_of_a_line(line: str, expected: list[str]) -> None:
    assert sorted(faults(line)) == sorted(f"{line} -> {after}" for after in expected)


def test_faults_of_a_function() -> None:
    code = '''
        def f(a):
            """2 + 2."""
            while a:
                continue
            return a

        def g():
            return False
    '''
    assert faults(code) == [
        "while a: -> while (not (a)):",
        "continue -> break",
        "return a -> return None",
        "return False -> return True",
    ]


def test_a_fault_is_named_by_its_function_and_counted_among_those_that_look_the_same() -> None:
    code = (
        "class C:\n    limit = 1\n    def f(self):\n        def g():\n            go()\n            go()\n        return g\n"
    )
    assert [change.name for change in changes_of("m.py", code)] == [
        "m.py module: limit = 1 -> limit = 2",
        "m.py C.f: go() -> pass",
        "m.py C.f: go() -> pass (2)",
        "m.py C.f: return g -> return None",
    ]


def test_the_fault_is_all_that_changes() -> None:
    code = "if a:  # why\n    b = (\n        c\n        + 1\n    )\n"
    texts = [change.applied(code) for change in changes_of("m.py", code)]
    assert texts == [
        code.replace("if a:", "if (not (a)):"),
        code.replace("+ 1", "- 1"),
        code.replace("+ 1", "+ 2"),
    ]
