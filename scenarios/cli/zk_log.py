"""kcsim zk log: the contents of a ZooKeeper's transaction log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.zk_files import checked_chroot, exit_on_file_errors, parse_option, print_remarks

if TYPE_CHECKING:
    from kcsim.zk.capture.session_owners import SessionOwners
    from kcsim.zk.capture.transaction_listing import OperationLine, TransactionFilter, TransactionListing
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
    log_dir: Annotated[
        Path | None, typer.Option(help="dataLogDir, if the logs are in another directory than the snapshots.")
    ] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are: it is needed to find whose a session is.")] = "/",
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Print ZooKeeper's transactions: the time, the session (a broker's by its name), and the changes.

    Data that is JSON is compared field by field with what was in the znode before. Reads logs of ZooKeeper 3.5 to 3.9,
    also compressed with gzip.

    \b
    kcsim zk log /var/lib/zookeeper --path /brokers/topics/orders --from 2024-05-01T12:30:00Z
    kcsim zk log /var/lib/zookeeper/version-2/log.1a --session broker-2

    Exit status: 0 printed, 2 a file is damaged, 64 there are no such files.
    """
    wanted = _wanted(path or [], begin, end, session or [], zxid)
    below = checked_chroot(chroot)
    with exit_on_file_errors():
        from kcsim.zk.files.data_directory import DataDirectory

        directory = DataDirectory(files, log_dir)
        listing, found = _listed(directory, wanted, below)
        if output is OutputFormat.JSON:
            _print_json(listing, found)
        else:
            for transaction, lines in found:
                for line in listing.table_lines(transaction, lines):
                    print(line)
    print_remarks(directory)


def _wanted(
    path: list[str], begin: str | None, end: str | None, session: list[str], zxid: str | None
) -> "TransactionFilter":
    from kcsim.vocabulary import Zxid
    from kcsim.zk.capture.transaction_listing import LONGEST_TIME, TransactionFilter
    from kcsim.zk.capture.zxid_or_time import parse_time, parse_zxid
    from kcsim.zk.files.transaction_log import NO_BOUND

    for one in path:
        if not one.startswith("/"):
            fail(f"--path: {one!r} does not begin with /", ExitStatus.USAGE)
    first, last = Zxid(0), NO_BOUND
    if zxid is not None:
        low, _, high = zxid.partition(RANGE)
        first = parse_option("--zxid", parse_zxid, low)
        last = parse_option("--zxid", parse_zxid, high) if high else first
    return TransactionFilter(
        paths=tuple(path),
        sessions=tuple(_session(one) for one in session),
        first=first,
        last=last,
        from_ms=0 if begin is None else parse_option("--from", parse_time, begin),
        to_ms=LONGEST_TIME if end is None else parse_option("--to", parse_time, end),
    )


def _session(text: str) -> str:
    """Return a session id in the event log's form; broker-N is returned unchanged."""
    from kcsim.eventlog.events import hexadecimal
    from kcsim.vocabulary import SessionId
    from kcsim.zk.capture.zxid_or_time import parse_zxid

    if text.startswith("broker-"):
        return text
    if not text.lower().startswith("0x"):
        fail(f"--session: {text!r} is neither a session's id (0x…) nor broker-N", ExitStatus.USAGE)
    return hexadecimal(SessionId(parse_option("--session", parse_zxid, text)))


def _listed(
    directory: "DataDirectory", wanted: "TransactionFilter", chroot: str
) -> "tuple[TransactionListing, Iterator[tuple[Transaction, list[OperationLine]]]]":
    """Return the listing and its transactions.

    The logs are read twice: a session's broker is known only when it registers, after the session's first writes.
    """
    from kcsim.zk.capture.transaction_listing import TransactionListing

    tree = directory.tree_before_the_logs()
    listing = TransactionListing(tree, _names(directory, chroot), wanted)

    def found() -> "Iterator[tuple[Transaction, list[OperationLine]]]":
        for transaction in directory.transactions(tree.zxid):
            if transaction.zxid > wanted.last:
                return
            if lines := listing.take(transaction):
                yield transaction, lines

    return listing, found()


def _names(directory: "DataDirectory", chroot: str) -> "SessionOwners":
    from kcsim.zk.capture.session_owners import SessionOwners

    names = SessionOwners(chroot)
    names.learn_tree(directory.tree_before_the_logs())
    for transaction in directory.transactions():
        names.learn(transaction)
    return names


def _print_json(listing: "TransactionListing", found: "Iterator[tuple[Transaction, list[OperationLine]]]") -> None:
    """Print one array with a line for each transaction, printed as the transactions are read."""
    print("[", end="")
    separator = "\n"
    for transaction, lines in found:
        print(separator + json.dumps(listing.as_json(transaction, lines), ensure_ascii=False), end="")
        separator = ",\n"
    print("\n]")
