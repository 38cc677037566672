"""The faults put into a module: one operator, condition, number, call or assignment changed at a time.

Strings, annotations, decorators, assertions and the arguments of exceptions stay: what a text says is not behaviour.
"""

import ast
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count, pairwise

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}

LARGE = 100
"""From this number on a number is doubled: one more or less of a limit or a time is no fault."""


@dataclass(frozen=True)
class Change:
    """One fault in a file.

    Attributes:
        file: of the module, from the project's root.
        function: the function or method it is in, as Python's qualified name; empty outside of functions.
        line: its line, from 1.
        start, end: the place in the file's text, in characters, that `replacement` takes.
        before, after: the line, or the statement, without and with the fault.
        nth: which of the function's faults that look the same, from 1.
    """

    file: str
    function: str
    line: int
    start: int
    end: int
    replacement: str
    before: str
    after: str
    nth: int

    @property
    def name(self) -> str:
        """What tells it from all others, and stays when lines are added above."""
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.file} {self.function or 'module'}: {self.before} -> {self.after}{nth}"

    def applied(self, text: str) -> str:
        """Return the module's text with the fault."""
        return text[: self.start] + self.replacement + text[self.end :]


def changes_of(file: str, text: str) -> list[Change]:
    """Return all faults that can be put into a module, in the order of its text."""
    return sorted(_Changes(file, text).found(), key=lambda change: (change.start, change.end, change.replacement))


Replaced = tuple[int, int, str]
"""Start and end in the text, and what is put there."""


class _Changes:
    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._line_starts = [0, *accumulate(len(line) for line in self._lines)]
        self._alike: dict[tuple[str, str, str], count[int]] = defaultdict(lambda: count(1))

    def found(self) -> Iterator[Change]:
        yield from self._in_statements(ast.parse(self._text).body, "", in_function=False)

    def _in_statements(self, statements: Iterable[ast.AST], name: str, *, in_function: bool) -> Iterator[Change]:
        for statement in statements:
            if not _is_left_alone(statement):
                yield from self._in_node(statement, name, in_function=in_function)

    def _in_node(self, node: ast.AST, name: str, *, in_function: bool) -> Iterator[Change]:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if not in_function:
                    name = f"{name}.{node.name}" if name else node.name
                in_function = in_function or not isinstance(node, ast.ClassDef)
                yield from self._in_statements(node.body, name, in_function=in_function)
                return
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield from self._in_node(value, name, in_function=in_function)
                return
            case ast.JoinedStr() | ast.keyword(arg="strict" | "slots" | "frozen" | "kw_only" | "daemon"):
                return
        for replaced in self._of(node):
            yield self._change(name if in_function else "", replaced)
        if not isinstance(node, ast.Raise):
            yield from self._in_statements(ast.iter_child_nodes(node), name, in_function=in_function)

    def _of(self, node: ast.AST) -> Iterator[Replaced]:
        """Yield the changes of a node without those of the nodes in it."""
        match node:
            case ast.Compare(left, operators, comparators):
                for before, operator, after in zip([left, *comparators], operators, comparators, strict=False):
                    yield self._between(before, after, *COMPARISONS[type(operator)])
            case ast.BoolOp(operator, values):
                for before, after in pairwise(values):
                    yield self._between(before, after, *(("and", "or") if isinstance(operator, ast.And) else ("or", "and")))
            case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC and not (
                _is_text(left) or _is_text(right)
            ):
                yield self._between(left, right, *ARITHMETIC[type(operator)])
            case ast.UnaryOp(ast.Not(), operand):
                yield self._whole(node, self._text[slice(*self._place(operand))])
            case ast.Constant(bool() as value):
                yield self._whole(node, str(not value))
            case ast.Constant(int() as value):
                yield self._whole(node, str(value + 1 if value < LARGE else 2 * value))
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                yield from self._turned(test)
            case ast.comprehension(ifs=conditions):
                for condition in conditions:
                    yield from self._turned(condition)
            case (
                ast.Expr(ast.Call() | ast.Await())
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
                | ast.AugAssign()
                | ast.Raise()
                | ast.Delete()
            ):
                yield self._whole(node, "pass")
            case ast.Continue():
                yield self._whole(node, "break")
            case ast.Break():
                yield self._whole(node, "continue")
            case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
                yield self._whole(node, "return None")

    def _turned(self, test: ast.expr) -> Iterator[Replaced]:
        """Yield a condition turned round, unless a change of its operator is just that."""
        if not isinstance(test, ast.Compare | ast.UnaryOp | ast.Constant):
            start, end = self._place(test)
            yield start, end, f"(not ({self._text[start:end]}))"

    def _whole(self, node: ast.expr | ast.stmt, new: str) -> Replaced:
        return *self._place(node), new

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Replaced:
        start = self._text.index(old, self._place(left)[1], self._place(right)[0])
        return start, start + len(old), new

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, bytes_before: int) -> int:
        return self._line_starts[line - 1] + len(self._lines[line - 1].encode()[:bytes_before].decode())

    def _change(self, name: str, replaced: Replaced) -> Change:
        start, end, new = replaced
        line = bisect_right(self._line_starts, start)
        shown_from = self._line_starts[line - 1]
        shown_to = self._line_starts[bisect_left(self._line_starts, end)]
        before = " ".join(self._text[shown_from:shown_to].split())
        after = " ".join((self._text[shown_from:start] + new + self._text[end:shown_to]).split())
        nth = next(self._alike[name, before, after])
        return Change(self._file, name, line, start, end, new, before, after, nth)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.arg() | ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return True
        case ast.Expr(ast.Constant()):
            return True
        case ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case _:
            return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
