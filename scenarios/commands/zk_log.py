"""kcsim zk log: what stands in a ZooKeeper's transaction log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Output, give_up
from kcsim.scenarios.commands.zk_files import checked_chroot, files_at_fault, parsed, say_remarks

if TYPE_CHECKING:
    from kcsim.scenarios.imported.log_listing import Line, Listing, Wanted
    from kcsim.scenarios.imported.session_names import SessionNames
    from kcsim.zk.files.data_directory import DataDirectory
    from kcsim.zk.files.transactions import Transaction

RANGE = ".."


def log(
    files: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="dataDir, version-2 in it, or one log file.")],
    path: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="Only this znode and those below; may be repeated.")
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="2024-05-01T12:30:00Z; UTC if no zone.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Up to and including this time.")] = None,
    session: Annotated[list[str] | None, typer.Option(metavar="ID", help="0x10000…, or broker-2; may be repeated.")] = None,
    zxid: Annotated[str | None, typer.Option(metavar="ZXID[..ZXID]", help="0x1a, or 0x1a..0x2f.")] = None,
    log_dir: Annotated[Path | None, typer.Option(help="dataLogDir, if the logs are apart from the snapshots.")] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are: it is needed to tell whose a session is.")] = "/",
    output: Annotated[Output, typer.Option(help="How to print it.")] = Output.TABLE,
) -> None:
    """Print ZooKeeper's transactions: when, by whom (by session; a broker's by its name), and what changed.

    Data that is JSON is compared field by field with what was in the znode before. Reads logs of ZooKeeper 3.5 to 3.9,
    also such as gzip has compressed.

    \b
    kcsim zk log /var/lib/zookeeper --path /brokers/topics/orders --from 2024-05-01T12:30:00Z
    kcsim zk log /var/lib/zookeeper/version-2/log.1a --session broker-2

    Exit status: 0 printed, 2 a file is damaged, 64 there are no such files.
    """
    wanted = _wanted(path or [], begin, end, session or [], zxid)
    below = checked_chroot(chroot)
    with files_at_fault():
        from kcsim.zk.files.data_directory import DataDirectory

        directory = DataDirectory(files, log_dir)
        listing, found = _listed(directory, wanted, below)
        if output is Output.JSON:
            _print_json(listing, found)
        else:
            for transaction, lines in found:
                for line in listing.table_lines(transaction, lines):
                    print(line)
    say_remarks(directory)


def _wanted(path: list[str], begin: str | None, end: str | None, session: list[str], zxid: str | None) -> "Wanted":
    from kcsim.scenarios.imported.log_listing import LONGEST_TIME, Wanted
    from kcsim.scenarios.imported.moment import parse_time, parse_zxid
    from kcsim.zk.files.transaction_log import NO_BOUND
    from kcsim.zk.vocabulary import Zxid

    for one in path:
        if not one.startswith("/"):
            give_up(f"--path: {one!r} does not begin with /", ExitStatus.USAGE)
    first, last = Zxid(0), NO_BOUND
    if zxid is not None:
        low, _, high = zxid.partition(RANGE)
        first = parsed("--zxid", parse_zxid, low)
        last = parsed("--zxid", parse_zxid, high) if high else first
    return Wanted(
        paths=tuple(path),
        sessions=tuple(_session(one) for one in session),
        first=first,
        last=last,
        from_ms=0 if begin is None else parsed("--from", parse_time, begin),
        to_ms=LONGEST_TIME if end is None else parsed("--to", parse_time, end),
    )


def _session(text: str) -> str:
    """As the event log has it; broker-N as it is."""
    from kcsim.scenarios.imported.moment import parse_zxid
    from kcsim.zk.events import hexadecimal
    from kcsim.zk.vocabulary import SessionId

    if text.startswith("broker-"):
        return text
    if not text.lower().startswith("0x"):
        give_up(f"--session: {text!r} is neither a session's id (0x…) nor broker-N", ExitStatus.USAGE)
    return hexadecimal(SessionId(parsed("--session", parse_zxid, text)))


def _listed(
    directory: "DataDirectory", wanted: "Wanted", chroot: str
) -> "tuple[Listing, Iterator[tuple[Transaction, list[Line]]]]":
    """The logs are read twice: whose a session is shows only when it registers, after its first writes."""
    from kcsim.scenarios.imported.log_listing import Listing

    tree = directory.tree_before_the_logs()
    listing = Listing(tree, _names(directory, chroot), wanted)

    def found() -> "Iterator[tuple[Transaction, list[Line]]]":
        for transaction in directory.transactions(tree.zxid):
            if transaction.zxid > wanted.last:
                return
            if lines := listing.take(transaction):
                yield transaction, lines

    return listing, found()


def _names(directory: "DataDirectory", chroot: str) -> "SessionNames":
    from kcsim.scenarios.imported.session_names import SessionNames

    names = SessionNames(chroot)
    names.learn_tree(directory.tree_before_the_logs())
    for transaction in directory.transactions():
        names.learn(transaction)
    return names


def _print_json(listing: "Listing", found: "Iterator[tuple[Transaction, list[Line]]]") -> None:
    """One array, a line for each transaction, printed as they come."""
    print("[", end="")
    separator = "\n"
    for transaction, lines in found:
        print(separator + json.dumps(listing.as_json(transaction, lines), ensure_ascii=False), end="")
        separator = ",\n"
    print("\n]")
