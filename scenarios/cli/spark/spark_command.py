"""A subcommand of kcsim spark: it needs packages that the installation may lack."""

from importlib.util import find_spec
from typing import Any

from typer.core import TyperCommand

from kcsim.extras import install_command
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

PACKAGES = {"spark": ("pyspark", "pyarrow", "pandas", "scipy"), "duckdb": ("duckdb", "pyarrow")}
"""What each engine needs. The extra that brings it has the engine's name."""


class SparkCommand(TyperCommand):
    """A command that ends with one line where a package is missing, before it does anything. Its --help needs none."""

    def invoke(self, ctx: Any) -> Any:
        if missing := missing_packages(str(ctx.params.get("engine", "spark"))):
            fail(missing, ExitStatus.UNDECIDED)
        return super().invoke(ctx)


def missing_packages(engine: str = "spark") -> str | None:
    """Return which packages of an engine are not installed, and how to install them; None if all are there."""
    missing = [name for name in PACKAGES[engine] if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}; {install_command(engine)} brings all" if missing else None
