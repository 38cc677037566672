"""Pages checked against the rules of axe-core: WCAG 2.2, levels A and AA, and its best practices."""

from typing import Any

from tests.chromium import Tab
from tests.requirements import AXE

RUN = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
    violations.map(({id, help, nodes}) => ({id, help, at: nodes.slice(0, 5).map(({html}) => html)})))"""


def violations(tab: Tab) -> list[dict[str, Any]]:
    """Return the rules that the page violates as it is now, each with some of the elements."""
    if not tab.evaluate("typeof axe === 'object'"):
        tab.evaluate(f"{AXE.read_text(encoding='utf-8')}; true")
    found: list[dict[str, Any]] = tab.evaluate(RUN)
    return found
