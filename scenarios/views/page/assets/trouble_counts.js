"use strict";
// How many partitions of each topic have no working leader or are only under-replicated, over time. The counts follow the
// changes of partitions and of brokers' processes: what was counted is not counted again when a run goes on.

class TroubleCounts {
  constructor(histories) {
    this.histories = histories;
    this.forget();
  }

  forget() {
    this.names = null; // those of all partitions, when the lanes were made
    this.lanes = new Map(); // name of a lane -> [counts, the event from which they hold]; counts: [unled, under, existing]
    this.laneOf = new Map();
    this.found = new Map(); // partition -> its part of the counts
    this.ledBy = new Map(); // broker -> the partitions that it leads
    this.leaderOf = new Map();
    this.read = { partition: 0, process: 0 };
  }

  /** Count what was appended to the run. Args: lanes: those of topics have the names of their partitions. */
  follow(lanes) {
    const { histories } = this;
    const names = histories.namesOf("partition");
    if (this.names !== names) {
      this.forget();
      this.names = names;
      for (const { type, name, of } of lanes) {
        if (type !== "topic") continue;
        this.lanes.set(name, []);
        for (const partition of of) this.laneOf.set(partition, name);
      }
    }
    if (!this.lanes.size) return;
    const [partitions, changed] = [histories.places.get("partition"), histories.names.get("partition")];
    const [processes, nodes] = [histories.places.get("process") ?? [], histories.names.get("process")];
    const { read } = this;
    while (read.partition < partitions.length || read.process < processes.length) {
      const isPartition = read.partition < partitions.length && !(processes[read.process] < partitions[read.partition]);
      const at = isPartition ? read.partition++ : read.process++;
      if (isPartition) this.judge(changed[at], partitions[at]);
      else for (const name of this.ledBy.get(nodes[at]) ?? []) this.judge(name, processes[at]);
    }
  }

  judge(name, place) {
    const value = this.histories.at(place, "partition", name);
    const leader = value === null || value[1] < 0 ? null : `${BROKER}${value[1]}`;
    this.setLeader(name, leader);
    const isUnled = value !== null && (value[4].includes("o") || (leader !== null && haltedLeader(this.histories, value[1], place) !== null));
    const now = [Number(isUnled), Number(value !== null && !isUnled && value[4] === "u"), Number(value !== null)];
    const before = this.found.get(name) ?? [0, 0, 0];
    if (now.every((count, i) => count === before[i])) return;
    this.found.set(name, now);
    const steps = this.lanes.get(this.laneOf.get(name));
    const sums = (steps.at(-1)?.[0] ?? [0, 0, 0]).map((sum, i) => sum + now[i] - before[i]);
    if (steps.at(-1)?.[1] === place) steps.at(-1)[0] = sums;
    else steps.push([sums, place]);
  }

  setLeader(name, leader) {
    const before = this.leaderOf.get(name) ?? null;
    if (before === leader) return;
    this.leaderOf.set(name, leader);
    this.ledBy.get(before)?.delete(name);
    if (leader === null) return;
    if (!this.ledBy.has(leader)) this.ledBy.set(leader, new Set());
    this.ledBy.get(leader).add(name);
  }

  /** Yield the counts of a lane, from one change to the next: [[unled, under, existing], first, end). */
  *partsOf(lane, length) {
    const steps = this.lanes.get(lane) ?? [];
    for (const [i, [sums, first]] of steps.entries()) yield [sums, first, i + 1 < steps.length ? steps[i + 1][1] : length];
  }
}
