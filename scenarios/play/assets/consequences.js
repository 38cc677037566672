"use strict";
// What has followed from each act: counted from the events whose chain of causes leads back to it.

const OPS_OF_VERBS = { "zk-delete": ["delete"], "zk-set": ["set"], "zk-create": ["create"], "zk-recreate": ["recreate"], "elect-unclean": ["elect-leaders"] };
const verbOf = (step) => step.slice(0, Math.max(step.indexOf(":"), 0)) || step;

class Consequences {
  constructor() {
    this.read = 0;
    this.actOf = []; // index of an event -> index of its act, or -1
    this.found = []; // index of an act -> what has followed
  }

  /** Read the events that were appended to the run. Args: acts: [at_ms, step, why it was refused or null], in order. */
  follow(run, histories, acts) {
    for (; this.read < run.length; this.read++) {
      const place = this.read;
      const cause = run.cause(place);
      const act = cause === null ? this.rootAct(run, place, acts) : this.actOf[cause];
      this.actOf.push(act);
      if (act < 0) continue;
      const found = (this.found[act] ??= { first: place, places: new Set(), partitions: new Set(), measured: 0, longest: 0, isUnled: false, removed: 0, refused: 0, givenUp: 0, moved: new Map(), offline: new Set(), expired: new Set(), left: 0, joined: 0, acknowledged: 0, registered: [], groups: new Map(), controllers: [] });
      this.add(run, place, found);
      for (const name of partitionsTouched(run, histories, place)) found.partitions.add(name);
    }
  }

  /** Take the new indices of the events when some were left out. Args: newPlaces: see Run.thin. */
  thin(newPlaces) {
    const isKept = (place) => newPlaces[place] !== newPlaces[place + 1];
    this.actOf = this.actOf.filter((_, place) => isKept(place));
    this.read = this.actOf.length;
    for (const found of this.found.filter(Boolean)) {
      found.first = newPlaces[found.first];
      found.places = new Set([...found.places].filter(isKept).map((place) => newPlaces[place]));
      found.measured = found.places.size;
    }
  }

  /** Return the act that an event without a cause belongs to: the latest before it of that verb, or else the latest. */
  rootAct(run, place, acts) {
    if (run.node(place) !== "scenario" || !["Fault", "AdminAct"].includes(run.kind(place))) return -1;
    const op = run.value(place, "op") ?? run.value(place, "fault");
    let latest = acts.length - 1;
    while (latest >= 0 && (acts[latest][0] > run.times[place] || acts[latest][2])) latest--;
    const isOf = (step) => verbOf(step) === op || (OPS_OF_VERBS[verbOf(step)] ?? []).includes(op);
    for (let at = latest; at >= 0; at--) if (!acts[at][2] && isOf(acts[at][1])) return at;
    return latest;
  }

  add(run, place, found) {
    const of = () => `${run.value(place, "topic")}-${run.value(place, "partition")}`;
    found.places.add(place);
    switch (run.kind(place)) {
      case "ElectionWon":
        found.controllers.push([run.node(place), run.value(place, "controller_epoch"), run.times[place]]);
        break;
      case "LeaderElection":
        if (run.value(place, "leader") === undefined) found.offline.add(of());
        else {
          found.offline.delete(of());
          found.moved.set(of(), run.value(place, "leader"));
        }
        break;
      case "SessionClosed":
        if (run.value(place, "error")) found.expired.add(run.value(place, "session_id"));
        break;
      case "ReplicaRemovedFromIsr":
      case "IsrShrunk":
        found.left++;
        break;
      case "IsrExpanded":
        found.joined++;
        break;
      case "BrokerRegistered":
        found.registered.push(run.node(place));
        break;
      case "GroupStable":
        found.groups.set(run.value(place, "group"), run.value(place, "generation"));
        break;
      case "RecordsAcknowledged":
        found.acknowledged += run.value(place, "count") ?? 0;
        break;
      case "RecordsTruncated":
        found.removed += run.value(place, "count") ?? 0;
        break;
      case "RecordsRefused":
        found.refused += run.value(place, "count") ?? 0;
        break;
      case "RecordsGivenUp":
        found.givenUp += run.value(place, "count") ?? 0;
        break;
      default:
    }
  }

  /** Return what has followed from an act, in words. */
  words(run, histories, act) {
    const found = this.found[act];
    if (!found) return [];
    const began = run.times[found.first];
    const after = (t_ms) => (t_ms > began ? ` after ${duration(t_ms - began)}` : "");
    const moved = new Map();
    for (const leader of found.moved.values()) moved.set(leader, (moved.get(leader) ?? 0) + 1);
    const leaders = [...moved].sort((a, b) => a[0] - b[0]).map(([leader, count]) => `broker-${leader} leads ${plural(count, "partition")}`);
    const longest = longestUnled(run, histories, found);
    return [
      found.registered.length ? `registered: ${[...new Set(found.registered)].sort(byName).join(", ")}` : null,
      found.expired.size ? `${plural(found.expired.size, "session")} expired` : null,
      ...found.controllers.map(([node, epoch, t_ms]) => `${node} became the controller with epoch ${epoch}${after(t_ms)}`),
      leaders.length ? `elected: ${leaders.join(", ")}` : null,
      found.offline.size ? `no leader could be elected: ${[...found.offline].sort(byName).slice(0, 4).join(", ")}${found.offline.size > 4 ? " …" : ""}` : null,
      longest ? `without a working leader for up to ${duration(longest)}` : null,
      found.left ? `${plural(found.left, "removal")} from an ISR` : null,
      found.joined ? `${plural(found.joined, "return")} into an ISR` : null,
      ...[...found.groups].map(([group, generation]) => `group ${group} is stable in generation ${generation}`),
      found.acknowledged ? `${plural(found.acknowledged, "record")} acknowledged` : null,
      found.removed ? `${plural(found.removed, "record")} cut off from a follower's log` : null,
      found.refused ? `${plural(found.refused, "attempt")} to write a record failed` : null,
      found.givenUp ? `${plural(found.givenUp, "record")} given up` : null,
    ].filter(Boolean);
  }
}

/** Yield the partitions that an event has changed, or whose leader's process it has changed. */
function* partitionsTouched(run, histories, place) {
  yield* histories.namesChangedAt(place, "partition");
  if (run.kind(place) !== "ProcessState") return;
  for (const [name, value] of histories.allAt(place, "partition")) if (`${BROKER}${value[1]}` === run.node(place)) yield name;
}

/** Return for how long a partition was without a working leader at most; it is measured again while that may change. */
function longestUnled(run, histories, found) {
  if (found.measured !== found.places.size || found.isUnled) {
    found.isUnled = false;
    for (const [lasts, isOver] of unledFrom(run, histories, found)) {
      found.longest = Math.max(found.longest, lasts);
      found.isUnled ||= !isOver;
    }
    found.measured = found.places.size;
  }
  return found.longest;
}

/** Yield how long partitions were without a working leader, and whether that is over, of the intervals that began with an event that followed. */
function* unledFrom(run, histories, found) {
  for (const name of found.partitions) {
    let from = null;
    let hasHadLeader = false;
    for (const [value, first, , halted] of [...partitionParts(histories, name, run.length), [null, run.length - 1, run.length, null]]) {
      const isUnled = value !== null && hasHadLeader && (value[4].includes("o") || halted !== null);
      if (isUnled) from ??= first;
      else if (from !== null) {
        if (found.places.has(from)) yield [run.times[first] - run.times[from], value !== null];
        from = null;
      }
      hasHadLeader ||= value !== null && value[1] >= 0;
    }
  }
}
