"use strict";
// The acts on each type of thing: the step of the scenario language that does it, and what it will do.
//
// An act is {name, does, needs, fields, step, declares, asks}. `does` is a sentence, or a function from a thing and the
// present to one; `needs` returns why the act cannot be done, or null; `asks`: whether a question comes first. Fields are
// {name, label, value, choices, isLong}: their values are texts. A thing is {type, name}.

/** The values that acts are described with: the cluster after the last event of the run. */
class Present {
  constructor(run, histories) {
    Object.assign(this, { run, histories, place: run.length - 1 });
  }

  process(name) {
    const registered = this.histories.at(this.place, "registered", name);
    return this.histories.at(this.place, "process", name) ?? (registered ? "running" : "unknown");
  }

  get brokers() {
    const names = [...this.histories.namesOf("process"), ...this.histories.namesOf("registered")];
    return [...new Set(names.filter((name) => name.startsWith(BROKER)))].sort(byName);
  }

  get partitions() {
    return this.histories.allAt(this.place, "partition");
  }

  get topics() {
    return [...new Set([...this.partitions.keys()].map(topicOf))].sort(byName);
  }

  get controller() {
    const id = this.histories.at(this.place, "controller");
    return id === null ? null : `${BROKER}${id}`;
  }

  partition(name) {
    return this.histories.at(this.place, "partition", name);
  }

  /** The partitions that a broker leads. */
  led(broker) {
    return [...this.partitions].filter(([, [, leader]]) => `${BROKER}${leader}` === broker).map(([name]) => name);
  }

  /** A clause about what a broker is responsible for. */
  roles(broker) {
    const led = this.led(broker).length;
    const roles = [this.controller === broker ? "is the controller" : null, led ? `leads ${plural(led, "partition")}` : null].filter(Boolean);
    return roles.length ? `${broker} ${roles.join(" and ")}` : `${broker} leads nothing`;
  }

  znode(path) {
    return this.histories.at(this.place, "znode", path);
  }
}

const inState = (...states) => ({ name }, now) => (states.includes(now.process(name)) ? null : `the process is ${now.process(name)}`);
const IS_ALIVE = inState("running", "paused");
const written = (value) => JSON.stringify(value);
const between = (one, other) => `between: ${one}, and: ${other}`;
const endsOf = ({ name }) => name.split(" and ");
const listed = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);

/** Return a setting as YAML: a number and true stay what they are; nothing takes the setting away. */
const setting = (name, value) => `{${written(name)}: ${value === "" ? "null" : /^(-?\d+(\.\d+)?|true|false)$/.test(value) ? value : written(value)}}`;

const BROKER_ACTS = [
  {
    name: "Kill", needs: IS_ALIVE, step: ({ name }) => `kill: ${name}`,
    does: ({ name }, now) => `The process dies at once and closes nothing. ${now.roles(name)}: that changes when ZooKeeper has expired its session.`,
  },
  {
    name: "Pause", needs: inState("running"), step: ({ name }) => `pause: ${name}`,
    does: ({ name }, now) => `The process stands still, as in a long garbage collection. ${now.roles(name)}. Without heartbeats its session expires, and the process does not know.`,
  },
  { name: "Resume", needs: inState("paused"), step: ({ name }) => `resume: ${name}`, does: "The process goes on where it stood, with what it believed then." },
  {
    name: "Stop", needs: inState("running"), step: ({ name }) => `stop: ${name}`,
    does: ({ name }, now) => `A controlled shutdown: the controller moves the leaders away before the process ends. ${now.roles(name)}.`,
  },
  { name: "Start", needs: inState("dead", "stopped", "unknown", "unseen"), step: ({ name }) => `start: ${name}`, does: "The process starts, registers in /brokers/ids, and replicates until it is in sync." },
  {
    name: "Expire session", needs: IS_ALIVE, step: ({ name }) => `expire: ${name}`,
    does: ({ name }, now) => `ZooKeeper ends the session and removes its ephemeral znodes; the process lives. ${now.roles(name)}.`,
  },
  { name: "Disconnect", needs: IS_ALIVE, step: ({ name }) => `disconnect: ${name}`, does: "The connection to ZooKeeper is cut. The session expires after its time-out; other brokers are still reached." },
  { name: "Reconnect", needs: IS_ALIVE, step: ({ name }) => `reconnect: ${name}`, does: "The broker reaches ZooKeeper again, with its session if that has not expired." },
  {
    name: "Break a disk", needs: inState("running"), asks: true, step: ({ name }, { partitions }) => `fail-log-dir: ${name}${partitions === "all" ? "" : `\npartitions: ${partitions}`}`,
    fields: ({ name }, now) => [{
      name: "partitions", label: "Replicas in the log directory",
      choices: ["all", ...[...now.partitions].filter(([, [replicas]]) => replicas.some((id) => `${BROKER}${id}` === name)).map(([each]) => each).sort(byName)],
    }],
    does: "The log directory fails. The controller takes its replicas offline; a broker without any log directory left dies.",
  },
  {
    name: "Change a setting", needs: inState("running"), asks: true, step: ({ name }, { key, value }) => `restart: ${name}\nsettings: ${setting(key, value)}`,
    fields: () => [{ name: "key", label: "Setting", value: "replica.lag.time.max.ms" }, { name: "value", label: "Value", value: "10000" }],
    does: "The broker is restarted in order with another server.properties, and keeps it.",
  },
];

const LINK_ACTS = [
  { name: "Cut", step: (thing) => `partition: {${between(...endsOf(thing))}}`, does: "Nothing passes in either direction. Open connections stall: a follower falls out of the ISR after replica.lag.time.max.ms." },
  {
    name: "Delay", asks: true, step: (thing, { delay }) => `slow-link: {${between(...endsOf(thing))}, delay: ${delay}}`,
    fields: () => [{ name: "delay", label: "Delay of each request and response", value: "200ms" }],
    does: "Each request and each response takes longer; nothing is lost.",
  },
  { name: "Heal", step: (thing) => `heal: {${between(...endsOf(thing))}}`, does: "The link is as it should be. What is being sent again arrives." },
];

const ZNODE_ACTS = [
  {
    name: "Delete", asks: true, needs: ({ name }, now) => (now.znode(name) ? null : "the znode does not exist"), step: ({ name }) => `zk-delete: ${name}`,
    does: ({ name }) => `${name} is deleted by hand, with its version unchecked. ${ZNODE_MEANINGS.find(([pattern]) => pattern.test(name))?.[1] ?? "Watches on it and on its parent fire."}`,
  },
  {
    name: "Write", asks: true, needs: ({ name }, now) => (now.znode(name) ? null : "the znode does not exist"),
    step: ({ name }, { data }) => `zk-set: {path: ${written(name)}, data: ${written(data)}}`,
    fields: ({ name }, now) => [{ name: "data", label: "Data", value: now.znode(name)?.[0] ?? "", isLong: true }],
    does: ({ name }) => `The data of ${name} is overwritten by hand, and its version rises: a conditional write with the former version is refused.`,
  },
  {
    name: "Create below", asks: true, step: ({ name }, { child, data }) => `zk-create: {path: ${written(`${name === "/" ? "" : name}/${child}`)}, data: ${written(data)}}`,
    fields: () => [{ name: "child", label: "Name", value: "" }, { name: "data", label: "Data", value: "", isLong: true }],
    does: "A persistent znode is created by hand; a watch on the children of its parent fires.",
  },
];
const ZNODE_MEANINGS = [
  [/^\/controller$/, "Every broker watches it: the controller resigns, and all brokers race to create it again."],
  [/^\/controller_epoch$/, "The controller's writes check its version: they are refused from now on."],
  [/^\/brokers\/ids\/\d+$/, "The controller takes the broker for dead, although the process runs."],
  [/^\/brokers\/topics\/[^/]+$/, "ZooKeeper deletes only a znode without children."],
  [/\/state$/, "The partition has no stored leader and ISR any more."],
];

const PARTITION_ACTS = [
  {
    name: "Reassign", asks: true, step: ({ name }, { replicas }) => `reassign: {${name}: [${listed(replicas).join(", ")}]}`,
    fields: ({ name }, now) => [{ name: "replicas", label: "Replicas, the preferred leader first", value: rotated(now.partition(name)?.[0] ?? []).join(", ") }],
    does: "/admin/reassign_partitions is written: new replicas are added, catch up, and the others are removed.",
  },
  {
    name: "Elect the preferred replica", step: ({ name }) => `elect-preferred: ${name}`,
    does: ({ name }, now) => `The first replica, broker-${now.partition(name)?.[0][0]}, is to lead, if it is alive and in the ISR.`,
  },
  {
    name: "Elect an unclean leader", asks: true, step: ({ name }) => `elect-unclean: ${name}`,
    does: ({ name }, now) => `If no replica of the ISR [${now.partition(name)?.[3].join(", ")}] is alive, one outside of it leads: acknowledged records that it does not have are lost.`,
  },
  {
    name: "Change a setting of the topic", asks: true, step: ({ name }, { key, value }) => `set-config: {topics: {${topicOf(name)}: ${setting(key, value)}}}`,
    fields: () => [{ name: "key", label: "Setting", value: "min.insync.replicas" }, { name: "value", label: "Value; empty: as the brokers have it", value: "2" }],
    does: "The znode of the topic's settings is written, then a notification: brokers and controller read it.",
  },
  {
    name: "Delete the topic", asks: true, step: ({ name }) => `delete-topic: ${topicOf(name)}`,
    does: ({ name }, now) => `${topicOf(name)} with ${plural([...now.partitions.keys()].filter((each) => topicOf(each) === topicOf(name)).length, "partition")} is put below /admin/delete_topics; the deletion waits for dead brokers with replicas of it.`,
  },
];

const CONSUMER_ACTS = [
  { name: "Crash", needs: IS_ALIVE, step: ({ name }) => `crash-consumers: ${name.replace(/^consumer-/, "")}`, does: "The consumer leaves without notice: its partitions are not consumed until session.timeout.ms is over." },
  { name: "Pause", needs: inState("running"), step: ({ name }) => `pause-consumers: ${name.replace(/^consumer-/, "")}`, does: "The consumer stands still; after session.timeout.ms its group goes on without it." },
  { name: "Resume", needs: inState("paused"), step: ({ name }) => `resume-consumers: ${name.replace(/^consumer-/, "")}`, does: "The consumer goes on, and joins again if its group has removed it." },
  { name: "Close", needs: inState("running"), step: ({ name }) => `stop-consumers: ${name.replace(/^consumer-/, "")}`, does: "The consumer commits and leaves the group, which rebalances at once." },
];

const hasTopics = (_, now) => (now.topics.length ? null : "there is no topic");
const CLUSTER_ACTS = [
  {
    name: "Create a topic", asks: true, step: (_, { topic }) => `create-topic: ${topic}`,
    fields: (_, now) => [
      { name: "topic", label: "Name", value: firstFree("topic", now.topics) },
      { name: "partitions", label: "Partitions", value: "3" },
      { name: "replicas", label: "Replication factor", value: String(Math.min(3, now.brokers.length)) },
      { name: "least", label: "min.insync.replicas", value: "1" },
    ],
    declares: (_, { topic, partitions, replicas, least }) => ({
      cluster: { topics: { [topic]: { partitions: Number(partitions), "replication-factor": Number(replicas), config: { "min.insync.replicas": least } } } },
    }),
    does: "The replicas are placed on the brokers that are registered now; the controller finds the topic's znode by its watch, and elects the leaders.",
  },
  {
    name: "Start a producer", asks: true, needs: hasTopics, step: (_, { producer }) => `start-workload: ${producer}`,
    fields: (_, now) => [
      { name: "producer", label: "Name", value: firstFree("writer", now.histories.namesOf("process").map((name) => name.replace(/^producer-/, ""))) },
      { name: "topic", label: "Topic", choices: now.topics },
      { name: "acks", label: "acks", choices: ["all", "1", "0"] },
      { name: "rate", label: "Records per second", value: "20" },
    ],
    declares: (_, { producer, topic, acks, rate }) => ({ workload: { producers: { [producer]: { topics: topic, rate: Number(rate), settings: { acks } } } } }),
    does: "It writes until it is stopped. acks=all: acknowledged when the whole ISR has a record; 1: when the leader has it; 0: when it is sent.",
  },
  {
    name: "Start a consumer group", asks: true, needs: hasTopics, step: (_, { group, members }) => `start-consumers: [${memberNames(group, members).join(", ")}]`,
    fields: (_, now) => [
      { name: "group", label: "Group", value: firstFree("readers", now.histories.namesOf("group")) },
      { name: "topic", label: "Topic", choices: now.topics },
      { name: "assignor", label: "Assignor", choices: ["range", "roundrobin", "sticky", "cooperative-sticky"] },
      { name: "members", label: "Members", value: "2" },
    ],
    declares: (_, { group, topic, assignor, members }) => ({ workload: { groups: { [group]: { members: memberNames(group, members), topics: topic, assignors: assignor } } } }),
    does: "The members find the coordinator and join; the leader of the group divides the partitions with the assignor.",
  },
  {
    name: "Stop the producers", needs: (_, now) => (now.histories.namesOf("process").some((name) => name.startsWith("producer-") && now.process(name) === "running") ? null : "no producer is at work"),
    step: (_, __, now) => `stop-workload: [${now.histories.namesOf("process").filter((name) => name.startsWith("producer-") && now.process(name) === "running").map((name) => name.slice(9)).join(", ")}]`,
    does: "The producers make no more records, and wait until all are acknowledged or given up.",
  },
  { name: "Restart all brokers, one by one", asks: true, step: () => "rolling-restart: all", does: "Each broker is stopped in order and started again; the next one follows when all replicas are in sync again." },
  { name: "Elect all preferred replicas", needs: hasTopics, step: () => "elect-preferred: all", does: "The first replica of each partition is to lead, if it is alive and in the ISR." },
  { name: "Start all brokers", needs: (_, now) => (now.brokers.every((name) => ["running", "paused"].includes(now.process(name))) ? "all brokers run" : null), step: (_, __, now) => `start: [${now.brokers.filter((name) => !["running", "paused"].includes(now.process(name))).join(", ")}]`, does: "The brokers that do not run start and register." },
  { name: "Heal all links", step: () => "heal: all", does: "No link of the network is cut or slow any more." },
  {
    name: "Change a setting of all brokers", asks: true, step: (_, { key, value }) => `set-config: {broker-defaults: ${setting(key, value)}}`,
    fields: () => [{ name: "key", label: "Setting", value: "unclean.leader.election.enable" }, { name: "value", label: "Value; empty: as server.properties has it", value: "true" }],
    does: "/config/brokers/<default> is written, then a notification: each broker reads it while it runs.",
  },
];

const ACTS = { broker: BROKER_ACTS, link: LINK_ACTS, znode: ZNODE_ACTS, partition: PARTITION_ACTS, consumer: CONSUMER_ACTS, cluster: CLUSTER_ACTS };

/** Verb of a step -> what it does in general, for the list of what was done. */
const VERB_SENTENCES = {
  kill: "dies at once; its session is left to expire",
  pause: "stands still; without heartbeats its session expires",
  resume: "goes on where it stood",
  stop: "shuts down in order: leaders move away first",
  start: "starts and registers",
  expire: "loses its session; the process lives",
  disconnect: "is cut off from ZooKeeper",
  reconnect: "reaches ZooKeeper again",
  restart: "is stopped in order and started again",
  "rolling-restart": "restart one by one, each when all are in sync",
  "fail-log-dir": "loses a log directory",
  partition: "nothing passes between them",
  "slow-link": "requests and responses take longer",
  heal: "links are as they should be",
  "create-topic": "its znodes are written; the controller elects leaders",
  "delete-topic": "is put below /admin/delete_topics",
  reassign: "replicas are added, then others removed",
  "elect-preferred": "the first replica is to lead",
  "elect-unclean": "a replica outside of the ISR may lead",
  "set-config": "settings change while everybody runs",
  "zk-delete": "a znode is deleted by hand",
  "zk-set": "a znode is overwritten by hand",
  "zk-create": "a znode is created by hand",
  "start-workload": "a producer writes records",
  "stop-workload": "a producer makes no more records",
  "start-consumers": "consumers join their group",
  "stop-consumers": "consumers leave their group",
  "crash-consumers": "consumers die without leaving their group",
  "pause-consumers": "consumers stand still",
  "resume-consumers": "consumers go on",
};

const COMMON_STEPS = [
  "kill: controller", "pause: controller", "resume: all", "start: all", "heal: all", "delete-topic: orders",
  "rolling-restart: all", "elect-preferred: all", "zk-delete: /controller", "partition: {between: broker-1, and: broker-2}",
];

/** Return a name that is not taken: writer, writer-2, … */
function firstFree(name, taken) {
  let number = 2;
  if (!taken.includes(name)) return name;
  while (taken.includes(`${name}-${number}`)) number++;
  return `${name}-${number}`;
}

const rotated = (list) => [...list.slice(1), ...list.slice(0, 1)];
const memberNames = (group, count) => Array.from({ length: Math.max(Number(count) || 1, 1) }, (_, i) => `${group}-${i + 1}`);

/** Return what an act will do to a thing, as a sentence. */
const sentenceOf = (act, thing, now) => (typeof act.does === "function" ? act.does(thing, now) : act.does);
