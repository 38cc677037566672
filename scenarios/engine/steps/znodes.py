"""The steps about znodes: those that are written by hand, and the wait for a condition."""

from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.steps.step_spec import SUPPORTED, Absent, StepKind, StepSpec
from kcsim.scenarios.language.steps import WaitStep, ZkCreateStep, ZkDeleteStep, ZkRecreateStep, ZkSetStep

STAYS = Absent("what is written by hand stays: the invariants judge what brokers make of it")
NO_COMMAND = Absent("any client of ZooKeeper writes znodes")
NO_ACTION = Absent("a wait does nothing to the cluster")


async def _zk_create(on: StepExecution, step: ZkCreateStep) -> None:
    znode = step.zk_create
    await on.cluster.znodes.create(znode.path, znode.data, ephemeral=znode.ephemeral, sequential=znode.sequential)


async def _zk_recreate(on: StepExecution, step: ZkRecreateStep) -> None:
    znode = step.zk_recreate
    await on.cluster.znodes.recreate(znode.path, znode.data, ephemeral=znode.ephemeral)


async def _zk_set(on: StepExecution, step: ZkSetStep) -> None:
    await on.cluster.znodes.set(step.zk_set.path, step.zk_set.data)


async def _zk_delete(on: StepExecution, step: ZkDeleteStep) -> None:
    await on.cluster.znodes.delete(step.zk_delete)


async def _wait(on: StepExecution, step: WaitStep) -> None:
    await on.wait(step.wait.model_copy(update={"within": step.within_ms}))


ZNODE_SPECS = (
    StepSpec(ZkCreateStep, StepKind.ACTION, _zk_create, STAYS, NO_COMMAND, SUPPORTED, SUPPORTED),
    StepSpec(ZkRecreateStep, StepKind.ACTION, _zk_recreate, STAYS, NO_COMMAND, SUPPORTED, SUPPORTED),
    StepSpec(ZkSetStep, StepKind.ACTION, _zk_set, STAYS, NO_COMMAND, SUPPORTED, SUPPORTED),
    StepSpec(ZkDeleteStep, StepKind.ACTION, _zk_delete, STAYS, NO_COMMAND, SUPPORTED, SUPPORTED),
    StepSpec(WaitStep, StepKind.SETUP, _wait, NO_ACTION, NO_ACTION, SUPPORTED, SUPPORTED),
)
