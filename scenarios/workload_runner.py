"""Does the steps of a timetable that are about clients: makes producers of what the file declares, and sets them to work."""

from typing import assert_never

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.language.workload_model import ProducerModel, WorkloadModel
from kcsim.scenarios.language.workload_steps import Produce, StartWorkload, StopWorkload, WorkloadStep
from kcsim.scenarios.workload.producer import ProducerSpec
from kcsim.scenarios.workload.producer_config import ProducerConfig
from kcsim.scenarios.workload.workload import Workload


class WorkloadRunner:
    """Does steps on a cluster.

    Args:
        declared: the workload of the scenario.
    """

    def __init__(self, cluster: Cluster, declared: WorkloadModel) -> None:
        self._workload = Workload(cluster, specs_of(declared))

    async def do(self, step: WorkloadStep) -> None:
        """Do one step. Raises: ClusterError, TimedOutError."""
        match step:
            case Produce(produce=names, records=records):
                await self._workload.produce(names, records)
            case StartWorkload(start_workload=names):
                await self._workload.start(names)
            case StopWorkload(stop_workload=names):
                await self._workload.stop(names)
            case _:
                assert_never(step)

    async def end(self, within_ms: int) -> None:
        """Let whoever is at work come to an end, as by stop-workload. Raises: TimedOutError."""
        await self._workload.stop(self._workload.at_work, within_ms)

    def take_ledger(self) -> None:
        """The timetable is done: count what became of every record."""
        self._workload.take_ledger()


def specs_of(declared: WorkloadModel) -> dict[str, ProducerSpec]:
    """The producers of a scenario, by name."""
    return {name: _spec(name, producer) for name, producer in declared.producers.items()}


def _spec(name: str, producer: ProducerModel) -> ProducerSpec:
    return ProducerSpec(
        name=name,
        topics=producer.topics,
        rate=producer.rate,
        records=producer.records,
        record_bytes=producer.record_bytes,
        shares=producer.shares or {},
        config=ProducerConfig.of(producer.settings),
    )
