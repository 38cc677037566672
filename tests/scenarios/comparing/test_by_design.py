"""What differs by design has its reason in controller/FIDELITY.md: nothing is free without one, and none is idle."""

import re
from pathlib import Path

from kcsim.scenarios.comparing.by_design import BY_DESIGN
from tests.conformance.replayed import said

FIDELITY = Path(__file__).parents[3] / "controller" / "FIDELITY.md"
SECTION = "## Differs from the recordings on purpose"


def test_the_table_and_the_reasons_have_the_same_names() -> None:
    section = FIDELITY.read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    assert re.findall(r"^\*\*(\S+)\.\*\*", section, re.MULTILINE) == [*BY_DESIGN, said.WHAT_JAVA_PRINTS]
