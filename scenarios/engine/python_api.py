"""Scenarios written in Python, for people who prefer code: one function per element of a scenario file.

    failover = scenario(
        "failover",
        "The controller dies; another broker takes over.",
        cluster=cluster(3),
        timetable=[start("all"), wait(controller="any"), kill("controller", as_="old"), wait(controller="not old")],
        expect=[expect(dead="old"), expect("The epoch went up.", controller_epoch=2)],
    )
    assert run(failover, seed=7).held

The names and their possible arguments are those of the file (language/): hyphens become underscores, and `as`, `for`,
`from`, `and` and `break` get an underscore at their end. Errors are the same as for the file, with the line it would have.
"""

from kcsim.scenarios.engine.python_running import RunResult as RunResult
from kcsim.scenarios.engine.python_running import as_loaded as as_loaded
from kcsim.scenarios.engine.python_running import run as run
from kcsim.scenarios.language import consumer_steps, network_steps, steps, topic_steps, workload_steps
from kcsim.scenarios.language.python_keywords import ConditionKeywords as ConditionKeywords
from kcsim.scenarios.language.python_keywords import ExpectationKeywords as ExpectationKeywords
from kcsim.scenarios.language.python_keywords import LinkKeywords as LinkKeywords
from kcsim.scenarios.language.python_keywords import MidWriteStepKeywords as MidWriteStepKeywords
from kcsim.scenarios.language.python_keywords import Names as Names
from kcsim.scenarios.language.python_keywords import NamingStepKeywords as NamingStepKeywords
from kcsim.scenarios.language.python_keywords import ScenarioPart as ScenarioPart
from kcsim.scenarios.language.python_keywords import TimingKeywords as TimingKeywords
from kcsim.scenarios.language.python_parts import ScenarioError as ScenarioError
from kcsim.scenarios.language.python_parts import between as between
from kcsim.scenarios.language.python_parts import cluster as cluster
from kcsim.scenarios.language.python_parts import event as event
from kcsim.scenarios.language.python_parts import expect as expect
from kcsim.scenarios.language.python_parts import one_way as one_way
from kcsim.scenarios.language.python_parts import scenario as scenario
from kcsim.scenarios.language.python_parts import topic as topic

start = steps.StartStep.part
stop = steps.StopStep.part
restart = steps.RestartStep.part
rolling_restart = steps.RollingRestartStep.part
kill = steps.KillStep.part
pause = steps.PauseStep.part
resume = steps.ResumeStep.part
expire = steps.ExpireStep.part
disconnect = steps.DisconnectStep.part
reconnect = steps.ReconnectStep.part
slow_follower = steps.SlowFollowerStep.part
fail_log_dir = steps.FailLogDirStep.part
zookeeper = steps.ServersStep.part
zk_create = steps.ZkCreateStep.part
zk_set = steps.ZkSetStep.part
zk_recreate = steps.ZkRecreateStep.part
zk_delete = steps.ZkDeleteStep.part
wait = steps.WaitStep.part

partition = network_steps.NetworkPartitionStep.part
slow_link = network_steps.SlowLinkStep.part
lossy_link = network_steps.LossyLinkStep.part
break_connections = network_steps.BreakConnectionsStep.part
heal = network_steps.HealStep.part
inject_error = network_steps.InjectErrorStep.part

create_topic = topic_steps.CreateTopicStep.part
delete_topic = topic_steps.DeleteTopicStep.part
add_partitions = topic_steps.AddPartitionsStep.part
reassign = topic_steps.ReassignStep.part
cancel_reassignment = topic_steps.CancelReassignmentStep.part
elect_preferred = topic_steps.ElectPreferredStep.part
elect_unclean = topic_steps.ElectUncleanStep.part
set_config = topic_steps.SetConfigStep.part

produce = workload_steps.ProduceStep.part
start_workload = workload_steps.StartWorkloadStep.part
stop_workload = workload_steps.StopWorkloadStep.part

start_consumers = consumer_steps.StartConsumersStep.part
stop_consumers = consumer_steps.StopConsumersStep.part
crash_consumers = consumer_steps.CrashConsumersStep.part
pause_consumers = consumer_steps.PauseConsumersStep.part
resume_consumers = consumer_steps.ResumeConsumersStep.part
stall_consumers = consumer_steps.StallConsumersStep.part
