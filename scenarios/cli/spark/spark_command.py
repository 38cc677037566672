"""A subcommand of kcsim spark: it needs packages that the installation may lack."""

from importlib.util import find_spec
from typing import Any

from typer.core import TyperCommand

from kcsim.extras import install_command
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

SPARK_PACKAGES = ("pyspark", "pyarrow", "pandas", "scipy")


class SparkCommand(TyperCommand):
    """A command that ends with one line where a package is missing, before it does anything. Its --help needs none."""

    def invoke(self, ctx: Any) -> Any:
        if missing := missing_spark_packages():
            fail(missing, ExitStatus.UNDECIDED)
        return super().invoke(ctx)


def missing_spark_packages() -> str | None:
    """Return which packages are not installed, and how to install them; None if all are there."""
    missing = [name for name in SPARK_PACKAGES if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}; {install_command('spark')} brings all" if missing else None
