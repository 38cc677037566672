"use strict";
// The run as recorded in the trace: events by their index (`place`) in this page, from 0. This module expands the
// payload's compact encoding.

const ORDINARY = 0;
const NOTABLE = 1;
const KEY_EVENT = 2;

async function unpacked(base64) {
  const packed = atob(base64.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Turn differences back into numbers, in place. Args: last: the number before the first one. */
function summed(differences, last = 0) {
  for (let i = 0; i < differences.length; i++) last = differences[i] += last;
  return differences;
}

/** Append numbers that are written as differences. */
function appendSummed(numbers, differences) {
  for (const number of summed(differences, numbers.at(-1) ?? 0)) numbers.push(number);
}

function appendAll(list, more) {
  for (const each of more) list.push(each);
}

class Run {
  constructor(content) {
    this.load(content);
  }

  /** Take a run, its first part at least, in place of the one before. */
  load(content) {
    this.about = content.about;
    this.texts = content.texts;
    this.seqs = summed(content.seq);
    this.times = summed(content.t_ms);
    this.inTrace = summed(content.place); // each event's index in the whole trace
    this.ranks = content.rank;
    this.length = this.seqs.length;
    this.content = content;
    this.columns = Object.entries(content.columns);
    for (const [, column] of this.columns) summed(column.at);
    this.followersOf = null;
  }

  /** Append a part of a run that goes on, as PagePayload.take writes it. */
  append(part) {
    const { content } = this;
    appendAll(this.texts, part.texts);
    appendSummed(this.seqs, part.seq);
    appendSummed(this.times, part.t_ms);
    appendSummed(this.inTrace, part.place);
    for (const name of ["node", "kind", "cause", "says", "rank"]) appendAll(content[name], part[name]);
    for (const [name, column] of Object.entries(part.columns)) {
      content.columns[name] ??= { at: [], values: [], are_texts: column.are_texts };
      appendSummed(content.columns[name].at, column.at);
      appendAll(content.columns[name].values, column.values);
    }
    this.columns = Object.entries(content.columns);
    this.length = this.seqs.length;
    this.followersOf = null;
  }

  node(place) {
    return this.texts[this.content.node[place]];
  }

  kind(place) {
    return this.texts[this.content.kind[place]];
  }

  says(place) {
    return this.texts[this.content.says[place]];
  }

  /** Return an event's value in a column; undefined if it has none. */
  value(place, name) {
    const column = this.content.columns[name];
    const found = column ? lastNotAbove(column.at, place) : -1;
    if (found < 0 || column.at[found] !== place) return undefined;
    return column.are_texts ? this.texts[column.values[found]] : column.values[found];
  }

  /** Return all columns that an event has: [name, value]. */
  values(place) {
    return this.columns.map(([name]) => [name, this.value(place, name)]).filter(([, value]) => value !== undefined);
  }

  /** Return the seq of an event's cause, or null; the page need not have the cause. */
  causeSeq(place) {
    const back = this.content.cause[place];
    return back === 0 ? null : this.seqs[place] - back;
  }

  /** Return the index of an event's cause, if the page has the cause before the event. */
  cause(place) {
    const seq = this.causeSeq(place);
    const found = seq === null ? null : this.placeOf(seq);
    return found !== null && found < place ? found : null;
  }

  /** Return the index of an event by its seq; null if the page does not have the event. */
  placeOf(seq) {
    const found = lastNotAbove(this.seqs, seq);
    return found >= 0 && this.seqs[found] === seq ? found : null;
  }

  /** Return the indices of the events whose cause is this one. */
  followers(place) {
    if (this.followersOf === null) {
      this.followersOf = new Map();
      for (let later = 0; later < this.length; later++) {
        const cause = this.cause(later);
        if (cause === null) continue;
        if (!this.followersOf.has(cause)) this.followersOf.set(cause, []);
        this.followersOf.get(cause).push(later);
      }
    }
    return this.followersOf.get(place) ?? [];
  }

  /** Return the indices of the chain from the root of an event's causes down to the event itself. */
  chain(place) {
    const upwards = [];
    for (let at = place; at !== null; at = this.cause(at)) upwards.push(at);
    return upwards.reverse();
  }

  /** Return for how long the part between two events lasts; the last part ends with the run. */
  lasting(first, end) {
    return duration(Math.max(this.times[Math.min(end, this.length - 1)] - this.times[first], 0));
  }

  /** Return the index of the first event that the page has from a seq on; the last event if there is none. */
  placeFrom(seq) {
    return Math.min(lastNotAbove(this.seqs, seq - 1) + 1, this.length - 1);
  }

  /** Return whether the cluster's state is known at an event: the event is within a range that was kept in full. */
  isKnown(place) {
    return this.about.stretches.some(([first, end]) => first <= place && place < end);
  }

  /** Return how many events of the trace lie between an event and the one before it in this page. */
  leftOutBefore(place) {
    return this.inTrace[place] - (place === 0 ? -1 : this.inTrace[place - 1]) - 1;
  }
}
