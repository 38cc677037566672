"use strict";
// The contents of the picture: a lane for each node, a strip for each partition or topic, and the marks on them.

const BROKER = "broker-";
const MEMBER = "member-";
const CLIENTS = ["consumer-", "producer-"];
const CROWD = 24; // more brokers than this are shown by racks first
const MOST_PARTITION_STRIPS = 48;
const MOST_TOPIC_STRIPS = 40;

/** Signs of events, so that no meaning depends on colour alone. Later signs are drawn above earlier ones. */
const SIGNS = {
  act: ["◆", "an action on the cluster, such as creating a topic"],
  started: ["▲", "a process starts, or wakes up"],
  stopped: ["▼", "a process has stopped in order"],
  gone: ["⊘", "a session has expired, or a znode that matters is gone"],
  resigned: ["☆", "a controller resigns"],
  rebalance: ["↻", "a consumer group begins a rebalance"],
  paused: ["‖", "a process freezes"],
  won: ["★", "a broker is elected controller"],
  dead: ["✖", "a process dies"],
  fault: ["✚", "an injected fault"],
  held: ["✓", "an expectation that held"],
  violated: ["✗", "an expectation that was violated, or not decided"],
  refused: ["⊖", "records of a producer are refused, or given up"],
  other: ["●", "something else of note"],
};

const SIGN_OF_STATE = { running: "started", paused: "paused", stopped: "stopped", dead: "dead" };
const SIGN_OF_KIND = {
  Fault: "fault",
  AdminAct: "act",
  SessionClosed: "gone",
  ZnodeDeleted: "gone",
  ElectionWon: "won",
  ControllerResigned: "resigned",
  GroupRebalance: "rebalance",
  WorkloadStarted: "started",
  WorkloadStopped: "stopped",
  RecordsRefused: "refused",
  RecordsGivenUp: "refused",
};

/** Kinds without a mark: the start and the end of the run are visible anyway. */
const ENDS = new Set(["RunStarted", "RunEnded"]);

/** Return the sign of an event. */
function signOf(run, place) {
  const kind = run.kind(place);
  if (kind === "ProcessState") return SIGN_OF_STATE[run.value(place, "state")] ?? "other";
  if (kind === "Expectation") return run.value(place, "outcome") === "held" ? "held" : "violated";
  return SIGN_OF_KIND[kind] ?? "other";
}

/**
 * Return the lanes from top to bottom: {type, name, label, note, of}; type: marks, controller, process, group, partition, topic
 * and, if there are many brokers, also rack. In that case the lanes of racks come first, and each broker below them.
 */
function lanesOf(run, histories, controllers) {
  const processes = new Set([...histories.namesOf("process"), ...histories.namesOf("registered")]);
  for (const node of new Set(run.nodes)) processes.add(node);
  const named = (prefix) => [...processes].filter((name) => name.startsWith(prefix)).sort(byName);
  const process = (name) => ({ type: "process", name, label: name });
  const brokers = brokersByRack(named(BROKER), histories);
  const isCrowd = brokers.length > CROWD;
  const each = brokers.map(([name, rack]) => ({ ...process(name), note: rack && `rack ${rack}` }));
  return [
    { type: "marks", name: "scenario", label: "scenario" },
    { type: "marks", name: "zookeeper", label: "zookeeper" },
    ...(controllers.intervals.length ? [{ type: "controller", name: "controller", label: "controller" }] : []),
    ...named(MEMBER).map(process),
    ...(isCrowd ? racks(brokers) : each),
    ...CLIENTS.flatMap(named).map(process),
    ...groupsOf(histories),
    ...strips(histories),
    ...(isCrowd ? each : []),
  ];
}

/** Return a lane for each consumer group, with its members. */
function groupsOf(histories) {
  const members = new Map(histories.namesOf("group").map((group) => [group, []]));
  for (const consumer of histories.namesOf("owned")) {
    const group = histories.history("owned", consumer).values.find((value) => value?.[1])?.[1];
    if (group !== undefined && members.has(group)) members.get(group).push(consumer);
  }
  return [...members].map(([name, of]) => ({ type: "group", name, label: `group ${name}`, of }));
}

/** Return a strip for each rack; one for all brokers if there are no racks. */
function racks(brokers) {
  const found = new Map();
  for (const [name, rack] of brokers) {
    if (!found.has(rack)) found.set(rack, []);
    found.get(rack).push(name);
  }
  return [...found].map(([rack, of]) => {
    const label = rack === "" ? "brokers" : `rack ${rack}`;
    return { type: "rack", name: label, label, note: plural(of.length, "broker"), of };
  });
}

/** Return brokers with their racks, grouped by rack. */
function brokersByRack(names, histories) {
  const rackOf = (name) => histories.history("registered", name).values.find((value) => value?.[1])?.[1] ?? "";
  const found = names.map((name) => [name, rackOf(name)]);
  return found.sort((a, b) => byName(String(a[1]), String(b[1])) || byName(a[0], b[0]));
}

/** Return a strip for each partition; for many partitions, one per topic; for many topics, some and one for the rest. */
function strips(histories) {
  const partitions = histories.namesOf("partition");
  if (partitions.length <= MOST_PARTITION_STRIPS) {
    return partitions.map((name) => ({ type: "partition", name, label: name, of: [name] }));
  }
  const topics = new Map();
  for (const name of partitions) {
    const topic = topicOf(name);
    if (!topics.has(topic)) topics.set(topic, []);
    topics.get(topic).push(name);
  }
  const strip = (label, of) => ({ type: "topic", name: label, label, note: plural(of.length, "partition"), of });
  const all = [...topics].sort((a, b) => b[1].length - a[1].length);
  const shown = all.slice(0, MOST_TOPIC_STRIPS).map(([topic, of]) => strip(topic, of));
  const rest = all.slice(MOST_TOPIC_STRIPS);
  return rest.length ? [...shown, strip(`${rest.length} more topics`, rest.flatMap(([, of]) => of))] : shown;
}

const topicOf = (partition) => partition.slice(0, partition.lastIndexOf("-"));

/** Add the indices of the events from `first` on that are marked on a lane, ascending, to those of each lane by its name. */
function addMarks(marks, run, first) {
  const mark = (lane, place) => {
    if (!marks.has(lane)) marks.set(lane, []);
    if (marks.get(lane).at(-1) !== place) marks.get(lane).push(place);
  };
  for (let place = first; place < run.length; place++) {
    const isMarked = run.ranks[place] === KEY_EVENT ? !ENDS.has(run.kind(place)) : SIGN_OF_KIND[run.kind(place)] === "refused";
    if (!isMarked) continue;
    mark(run.node(place), place);
    if (run.kind(place) === "Fault") (run.value(place, "target") ?? "").split(", ").forEach((target) => mark(target, place));
  }
}

/** Yield the parts of a broker's lane as controller: {captions, isWorking, isInOffice, first, end}. */
function* terms(histories, controllers, name, length) {
  const broker = Number(name.slice(BROKER.length));
  const borders = new Set([0]);
  for (const [family, of] of [["role", name], ["process", name], ["controller", ""], ["epoch", ""]]) {
    for (const place of histories.history(family, of).at) borders.add(place);
  }
  for (const { first } of controllers.intervals) borders.add(first);
  const sorted = [...borders].sort((a, b) => a - b);
  let part = null;
  for (const [i, first] of sorted.entries()) {
    const end = i + 1 < sorted.length ? sorted[i + 1] : length;
    const now = termAt(histories, controllers, name, broker, first);
    if (part && now && part.captions[0] === now.captions[0]) part.end = end;
    else {
      if (part) yield part;
      part = now && { ...now, first, end };
    }
  }
  if (part) yield part;
}

function termAt(histories, controllers, name, broker, place) {
  const isInOffice = histories.at(place, "controller") === broker;
  const believes = histories.at(place, "role", name);
  if (!isInOffice && believes === null) return null;
  const isWorking = controllers.isWorking(broker, place);
  const number = believes ?? histories.at(place, "epoch") ?? "?";
  const epoch = `epoch ${number}`;
  if (isWorking) return { captions: [`★ controller, ${epoch}`, `★ ${epoch}`, `★ ${number}`], isWorking, isInOffice };
  const why = whyNotWorking(histories, controllers, name, place);
  const says = isInOffice ? `named in /controller, ${why === "out of office" ? "its writes are refused" : why}` : `thinks it is controller, ${epoch}, ${why}`;
  return { captions: [`☆ ${says}`, `☆ ${epoch}, ${why}`, `☆ ${why}`], isWorking, isInOffice };
}

/** Return in a few words why a broker that has or thinks it has the role does not work as the controller. */
function whyNotWorking(histories, controllers, name, place) {
  const state = histories.at(place, "process", name);
  if (state === "paused") return "frozen";
  if (state === "dead" || state === "stopped") return state;
  if (["suspended", "expired"].includes(histories.at(place, "link", name)?.[1])) return "cut off";
  const [broker, epoch] = [Number(name.slice(BROKER.length)), histories.at(place, "role", name)];
  const hasWorked = controllers.intervals.some((each) => each.broker === broker && each.epoch === epoch && each.first <= place);
  return hasWorked ? "out of office" : "not ready";
}

/** Count the brokers that are down, frozen, and all of them: [[down, frozen, all], first, end). */
const downOf = (histories, brokers, length) =>
  countsOf(brokers.map((name) => histories.parts("process", name, length)), length, (value) =>
    [Number(value === "dead" || value === "stopped"), Number(value === "paused"), 1]);

/** Yield the sums of `judge` over the parts of some entities, from one change to the next: [sums, first, end). */
function* countsOf(partsOfEach, length, judge) {
  const steps = [];
  for (const parts of partsOfEach) {
    let before = [0, 0, 0];
    for (const [value, first, , halted] of parts) {
      const now = judge(value, halted);
      steps.push([first, now.map((count, i) => count - before[i])]);
      before = now;
    }
  }
  steps.sort((a, b) => a[0] - b[0]);
  const counts = [0, 0, 0];
  for (let i = 0; i < steps.length; i++) {
    steps[i][1].forEach((difference, k) => (counts[k] += difference));
    const end = i + 1 < steps.length ? steps[i + 1][0] : length;
    if (end > steps[i][0]) yield [[...counts], steps[i][0], end];
  }
}

/** Yield the parts of a partition's strip, also divided where the process of its leader changes: [value, first, end, halted]. */
function* partitionParts(histories, name, length) {
  for (const [value, first, end] of histories.parts("partition", name, length)) {
    const leader = value?.[1] ?? -1;
    if (leader < 0) {
      yield [value, first, end, null];
      continue;
    }
    const process = histories.history("process", `${BROKER}${leader}`).at.filter((place) => first < place && place < end);
    const borders = [first, ...process, end];
    for (let i = 0; i + 1 < borders.length; i++) yield [value, borders[i], borders[i + 1], haltedLeader(histories, leader, borders[i])];
  }
}

/** Return the hue of a broker as a leader: the same wherever it leads. */
const hueOf = (broker) => Math.round((broker * 137.508) % 360);

/** Return a function for why the process of a leader does not run after an event, as haltedLeader: for many partitions. */
function haltedLeaders(histories, place) {
  const found = new Map();
  return (leader) => {
    if (!found.has(leader)) found.set(leader, haltedLeader(histories, leader, place));
    return found.get(leader);
  };
}

/** Return why the process of a leader does not run: frozen, dead or stopped; null if it runs, or the trace does not say. */
function haltedLeader(histories, leader, place) {
  const state = histories.at(place, "process", `${BROKER}${leader}`);
  return { paused: "frozen", dead: "dead", stopped: "stopped" }[state] ?? null;
}

/** Return texts about a partition for its strip, from the longest to the shortest. */
function leaderWords([replicas, leader, epoch, isr, flags], halted) {
  if (flags.includes("d")) return ["to be deleted"];
  const gone = flags.includes("o") ? `${leader} is gone` : `leader ${leader} is ${halted}`;
  const who = leader < 0 ? "no leader" : flags.includes("o") || halted ? gone : `leader ${leader}`;
  const inSync = flags.includes("u") ? `, ISR ${isr.length} of ${replicas.length}` : "";
  return [`${who}${epoch === null ? "" : `, epoch ${epoch}`}${inSync}`, `${who}${inSync}`, who, leader < 0 ? "none" : String(leader)];
}

/** Return whether a broker has lost its connection, or has lost its session without being notified. */
function isInDoubt([, seen, atServer]) {
  return seen === "suspended" || (seen === "connected" && atServer === "closed");
}

/** Yield the partitions that no member of a group consumes although one did before: [partitions, first, end). */
function* unconsumed(histories, consumers, length) {
  const borders = new Set(consumers.flatMap((name) => ["owned", "process"].flatMap((family) => histories.history(family, name).at)));
  const sorted = [...borders].sort((a, b) => a - b);
  const ever = new Set();
  for (const [i, first] of sorted.entries()) {
    const now = new Set();
    for (const name of consumers) {
      const isRunning = (histories.at(first, "process", name) ?? "running") === "running";
      for (const partition of histories.at(first, "owned", name)?.[0] ?? []) {
        ever.add(partition);
        if (isRunning) now.add(partition);
      }
    }
    const missing = [...ever].filter((partition) => !now.has(partition)).sort(byName);
    if (missing.length) yield [missing, first, sorted[i + 1] ?? length];
  }
}
