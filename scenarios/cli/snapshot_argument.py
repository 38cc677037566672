"""The argument of commands that ask about a snapshot: its file, read, or the end of the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

SnapshotArgument = Annotated[Path, typer.Argument(metavar="CLUSTER.JSON", help="What `kcsim snapshot` has written.")]


def read_snapshot_argument(file: Path) -> "ControlPlaneSnapshot":
    """Return the snapshot in a file, or end the command."""
    from kcsim.scenarios.snapshots.snapshot_format import SnapshotFormatError, read_snapshot

    try:
        return read_snapshot(file)
    except SnapshotFormatError as error:
        fail(str(error), ExitStatus.USAGE)
    except OSError as error:
        fail(f"{file}: {error.strerror or error}", ExitStatus.USAGE)


def read_simulated_snapshot(file: Path) -> "ControlPlaneSnapshot":
    """Return the snapshot of a cluster that can be simulated, or end the command: one that KRaft controls cannot."""
    snapshot = read_snapshot_argument(file)
    if snapshot.kraft_controller is not None:
        by = f"the KRaft controller {snapshot.kraft_controller}"
        fail(f"{file}: {by} decides in this cluster, not a controller with ZooKeeper", ExitStatus.REFUSED)
    return snapshot
