"""A broker's use of topics' settings. Source: Kafka 2.8, LogConfig."""

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.topic_settings import TopicSettings


def test_what_is_not_set_is_as_the_broker_has_it() -> None:
    settings = TopicSettings(2, LogConfig(segment_bytes=500))
    assert settings.min_in_sync_replicas("orders") == 2
    assert settings.log_config("orders") == LogConfig(segment_bytes=500)


def test_a_topic_has_its_own_where_it_is_set() -> None:
    settings = TopicSettings(1, LogConfig(segment_bytes=500))
    given = {"min.insync.replicas": "3", "retention.ms": "-1", "cleanup.policy": "compact, delete", "segment.ms": "60000"}
    settings.learn("orders", given)
    assert settings.min_in_sync_replicas("orders") == 3
    expected = LogConfig(segment_bytes=500, retention_ms=-1, segment_ms=60_000, cleanup_policy=("compact", "delete"))
    assert settings.log_config("orders") == expected
    assert settings.log_config("clicks") == LogConfig(segment_bytes=500)


def test_a_topic_has_its_own_type_of_timestamps() -> None:
    settings = TopicSettings(1, LogConfig())
    settings.learn("orders", {"message.timestamp.type": "LogAppendTime"})
    assert settings.log_config("orders") == LogConfig(message_timestamp_type="LogAppendTime")


def test_what_is_taken_back_is_as_if_it_had_never_been_set() -> None:
    settings = TopicSettings(1, LogConfig())
    settings.learn("orders", {"min.insync.replicas": "3", "segment.bytes": "100"})
    settings.learn("orders", {"retention.ms": "100"})
    assert settings.min_in_sync_replicas("orders") == 1
    assert settings.log_config("orders") == LogConfig(retention_ms=100)


def test_a_value_that_is_no_number_and_a_setting_that_logs_do_not_go_by_change_nothing() -> None:
    settings = TopicSettings(1, LogConfig())
    settings.learn("orders", {"segment.bytes": "many", "unclean.leader.election.enable": "true"})
    assert settings.log_config("orders") == LogConfig()
