"""The settings of brokers that can change while they run, and Kafka's checks before it writes any.

Left out: the values of settings that nothing here uses (security, listeners), and limits that depend on the present value,
as those of thread counts.

Source: Kafka 2.8, DynamicBrokerConfig.validate, KafkaConfig; what DescribeConfigs of a Kafka 2.8.2 calls read-only.
"""

from collections.abc import Iterable, Mapping

from kcsim.controller.decisions.kafka_refusals import ConfigError
from kcsim.controller.decisions.setting_checks import INT_BITS, LONG_BITS, Check, boolean, ratio, whole_number
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS

_OF_TOPICS = {
    "compression.type": "compression.type",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "log.cleaner.max.compaction.lag.ms": "max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio": "min.cleanable.dirty.ratio",
    "log.cleaner.min.compaction.lag.ms": "min.compaction.lag.ms",
    "log.cleanup.policy": "cleanup.policy",
    "log.message.timestamp.difference.max.ms": "message.timestamp.difference.max.ms",
    "log.message.timestamp.type": "message.timestamp.type",
}
"""The settings of brokers with the values of a setting of topics."""

DYNAMIC_SETTINGS: Mapping[str, Check] = {
    **{name: TOPIC_SETTINGS[of_topic] for name, of_topic in _OF_TOPICS.items()},
    "background.threads": whole_number(INT_BITS, 1),
    "follower.replication.throttled.rate": whole_number(LONG_BITS, 0),
    "leader.replication.throttled.rate": whole_number(LONG_BITS, 0),
    "log.cleaner.backoff.ms": whole_number(LONG_BITS, 0),
    "log.cleaner.dedupe.buffer.size": whole_number(LONG_BITS),
    "log.cleaner.io.buffer.load.factor": ratio,
    "log.cleaner.io.buffer.size": whole_number(INT_BITS, 0),
    "log.cleaner.threads": whole_number(INT_BITS, 0),
    "log.flush.interval.messages": whole_number(LONG_BITS, 1),
    "log.flush.interval.ms": whole_number(LONG_BITS),
    "log.index.interval.bytes": whole_number(INT_BITS, 0),
    "log.index.size.max.bytes": whole_number(INT_BITS, 4),
    "log.message.downconversion.enable": boolean,
    "log.preallocate": boolean,
    "log.retention.bytes": whole_number(LONG_BITS),
    "log.retention.ms": whole_number(LONG_BITS),
    "log.roll.jitter.ms": whole_number(LONG_BITS),
    "log.roll.ms": whole_number(LONG_BITS),
    "log.segment.bytes": whole_number(INT_BITS, 14),
    "log.segment.delete.delay.ms": whole_number(LONG_BITS, 0),
    "max.connection.creation.rate": whole_number(INT_BITS, 0),
    "max.connections": whole_number(INT_BITS, 0),
    "max.connections.per.ip": whole_number(INT_BITS, 0),
    "message.max.bytes": whole_number(INT_BITS, 0),
    "min.insync.replicas": whole_number(INT_BITS, 1),
    "num.io.threads": whole_number(INT_BITS, 1),
    "num.network.threads": whole_number(INT_BITS, 1),
    "num.recovery.threads.per.data.dir": whole_number(INT_BITS, 1),
    "num.replica.fetchers": whole_number(INT_BITS),
    "replica.alter.log.dirs.io.max.bytes.per.second": whole_number(LONG_BITS, 0),
    "unclean.leader.election.enable": boolean,
}
"""The settings that can change and whose values are checked."""

BROKER_LISTS: Mapping[str, str] = {
    "log.cleanup.policy": "delete",
    "metric.reporters": "",
    "sasl.enabled.mechanisms": "GSSAPI",
    "sasl.kerberos.principal.to.local.rules": "DEFAULT",
    "ssl.cipher.suites": "",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
}
"""The settings that can change and whose value is a list, with the default as text."""

_STATIC = """
advertised.host.name advertised.port alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
alter.log.dirs.replication.quota.window.size.seconds authorizer.class.name auto.create.topics.enable
auto.leader.rebalance.enable broker.id broker.id.generation.enable broker.rack client.quota.callback.class
connection.failed.authentication.delay.ms connections.max.idle.ms connections.max.reauth.ms control.plane.listener.name
controlled.shutdown.enable controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
controller.quota.window.num controller.quota.window.size.seconds controller.socket.timeout.ms
create.topic.policy.class.name default.replication.factor delegation.token.expiry.check.interval.ms
delegation.token.expiry.time.ms delegation.token.master.key delegation.token.max.lifetime.ms delegation.token.secret.key
delete.records.purgatory.purge.interval.requests delete.topic.enable fetch.max.bytes
fetch.purgatory.purge.interval.requests group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size
group.min.session.timeout.ms host.name inter.broker.listener.name inter.broker.protocol.version
kafka.metrics.polling.interval.secs kafka.metrics.reporters leader.imbalance.check.interval.seconds
leader.imbalance.per.broker.percentage log.cleaner.enable log.dir log.dirs log.flush.offset.checkpoint.interval.ms
log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms log.message.format.version
log.retention.check.interval.ms log.retention.hours log.retention.minutes log.roll.hours log.roll.jitter.hours
max.incremental.fetch.session.cache.slots metrics.num.samples metrics.recording.level metrics.sample.window.ms
num.partitions num.replica.alter.log.dirs.threads offset.metadata.max.bytes offsets.commit.required.acks
offsets.commit.timeout.ms offsets.load.buffer.size offsets.retention.check.interval.ms offsets.retention.minutes
offsets.topic.compression.codec offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes
password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret port
producer.purgatory.purge.interval.requests queued.max.request.bytes queued.max.requests quota.consumer.default
quota.producer.default quota.window.num quota.window.size.seconds replica.fetch.backoff.ms replica.fetch.max.bytes
replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num
replication.quota.window.size.seconds request.timeout.ms reserved.broker.max.id sasl.client.callback.handler.class
sasl.login.callback.handler.class sasl.login.class sasl.server.callback.handler.class sasl.server.max.receive.size
security.inter.broker.protocol security.providers socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms socket.receive.buffer.bytes socket.request.max.bytes socket.send.buffer.bytes
ssl.principal.mapping.rules transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
transaction.state.log.min.isr transaction.state.log.num.partitions transaction.state.log.replication.factor
transaction.state.log.segment.bytes transactional.id.expiration.ms zookeeper.clientCnxnSocket zookeeper.connect
zookeeper.connection.timeout.ms zookeeper.max.in.flight.requests zookeeper.session.timeout.ms zookeeper.set.acl
zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable zookeeper.ssl.crl.enable zookeeper.ssl.enabled.protocols
zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password
zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol zookeeper.ssl.truststore.location
zookeeper.ssl.truststore.password zookeeper.ssl.truststore.type zookeeper.sync.time.ms
"""
STATIC_SETTINGS = frozenset(_STATIC.split())
"""The settings that cannot change while a broker runs."""

_OF_ONE_BROKER = ("advertised.listeners", "listener.", "listeners", "principal.builder.class", "sasl.", "ssl.")


def check_broker_config(config: Mapping[str, str], is_default: bool) -> None:
    """Check the settings of one broker, or those of all brokers (`is_default`). Unknown ones are accepted, as Kafka does.

    Raises: ConfigError.
    """
    _refuse("Cannot update these configs dynamically", (name for name in config if name in STATIC_SETTINGS))
    if is_default:
        why = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse(why, (name for name in config if name.startswith(_OF_ONE_BROKER)))
    for name, value in config.items():
        wrong = DYNAMIC_SETTINGS[name](value) if name in DYNAMIC_SETTINGS else None
        if wrong is not None:
            raise ConfigError(f"Invalid value {value} for configuration {name}: {wrong}")


def is_known(name: str) -> bool:
    """Return whether a broker has a setting of this name."""
    return name in STATIC_SETTINGS or name in DYNAMIC_SETTINGS or name in BROKER_LISTS or name.startswith(_OF_ONE_BROKER)


def _refuse(why: str, names: Iterable[str]) -> None:
    found = ", ".join(names)
    if found:
        raise ConfigError(f"{why}: Set({found})")
