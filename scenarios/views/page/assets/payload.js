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

/** Turn differences back into numbers, in place. */
function summed(differences) {
  let last = 0;
  for (let i = 0; i < differences.length; i++) last = differences[i] += last;
  return differences;
}

function appendAll(list, more) {
  for (const each of more) list.push(each);
}

/** The columns that each event has; `texts` are those that are written as indices of texts. */
const EVERY_EVENT = { numbers: ["seqs", "times", "inTrace", "causes", "ranks"], texts: ["nodes", "kinds", "sentences"] };

class Run {
  constructor(about) {
    this.canFetch = false; // whether events that the page does not have can be fetched
    this.clear(about);
  }

  /** Begin a run without events, in place of the one before. */
  clear(about) {
    this.about = about;
    this.length = 0;
    for (const name of [...EVERY_EVENT.numbers, ...EVERY_EVENT.texts]) this[name] = []; // inTrace: the index in the whole trace
    this.columns = new Map(); // name -> the events that have a value, and the values
    this.texts = []; // those that the next part may refer to
    this.stretches = []; // [first, end) of the events that were kept without a gap
    this.wasOverview = true; // whether the last part was an overview, which leaves out most events
    this.followersOf = new Map(); // the index of an event -> the indices of those whose cause it is
    this.followersUntil = 0;
  }

  /** Append a part, as PagePayload.take writes it. */
  append(part) {
    const first = this.length;
    if (part.first_text === 0) this.texts = [];
    appendAll(this.texts, part.texts);
    appendAll(this.seqs, summed(part.seq));
    appendAll(this.times, summed(part.t_ms));
    appendAll(this.inTrace, summed(part.place));
    appendAll(this.causes, part.cause);
    appendAll(this.ranks, part.rank);
    for (const [name, places] of [["nodes", part.node], ["kinds", part.kind], ["sentences", part.says]]) {
      for (const place of places) this[name].push(this.texts[place]);
    }
    for (const [name, { at, values, are_texts: areTexts }] of Object.entries(part.columns)) {
      if (!this.columns.has(name)) this.columns.set(name, { at: [], values: [] });
      const column = this.columns.get(name);
      for (const place of summed(at)) column.at.push(first + place);
      for (const value of values) column.values.push(areTexts ? this.texts[value] : value);
    }
    this.length = this.seqs.length;
    if (!part.is_overview && this.length > first) this.extendStretch(first);
    this.wasOverview = part.is_overview === true;
  }

  extendStretch(first) {
    if (this.wasOverview) this.stretches.push([first, this.length]);
    else this.stretches.at(-1)[1] = this.length;
  }

  /**
   * Leave out the events that are neither in one of these stretches nor key events. Returns: for each event the index of the
   * first kept one from it on.
   */
  thin(stretches) {
    const isWhole = new Uint8Array(this.length);
    for (const [first, end] of stretches) isWhole.fill(1, first, end);
    const kept = [];
    const newPlaces = new Uint32Array(this.length);
    for (let place = 0; place < this.length; place++) {
      newPlaces[place] = kept.length;
      if (isWhole[place] || this.ranks[place] === KEY_EVENT) kept.push(place);
    }
    const isKept = new Uint8Array(this.length);
    for (const place of kept) isKept[place] = 1;
    for (const name of [...EVERY_EVENT.numbers, ...EVERY_EVENT.texts]) this[name] = kept.map((place) => this[name][place]);
    for (const column of this.columns.values()) {
      column.values = column.values.filter((_, i) => isKept[column.at[i]]);
      column.at = column.at.filter((place) => isKept[place]).map((place) => newPlaces[place]);
    }
    this.length = kept.length;
    this.stretches = stretches.map(([first, end]) => [newPlaces[first], end < newPlaces.length ? newPlaces[end] : this.length]);
    this.followersOf = new Map();
    this.followersUntil = 0;
    return newPlaces;
  }

  node(place) {
    return this.nodes[place];
  }

  kind(place) {
    return this.kinds[place];
  }

  says(place) {
    return this.sentences[place];
  }

  /** Return an event's value in a column; undefined if it has none. */
  value(place, name) {
    const column = this.columns.get(name);
    const found = column ? lastNotAbove(column.at, place) : -1;
    return found < 0 || column.at[found] !== place ? undefined : column.values[found];
  }

  /** Return all columns that an event has: [name, value]. */
  values(place) {
    return [...this.columns.keys()].map((name) => [name, this.value(place, name)]).filter(([, value]) => value !== undefined);
  }

  /** Return the seq of an event's cause, or null; the page need not have the cause. */
  causeSeq(place) {
    const back = this.causes[place];
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
    for (; this.followersUntil < this.length; this.followersUntil++) {
      const cause = this.cause(this.followersUntil);
      if (cause === null) continue;
      if (!this.followersOf.has(cause)) this.followersOf.set(cause, []);
      this.followersOf.get(cause).push(this.followersUntil);
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
    return this.stretches.some(([first, end]) => first <= place && place < end);
  }

  /** Return how many events of the trace lie between an event and the one before it in this page. */
  leftOutBefore(place) {
    return this.inTrace[place] - (place === 0 ? -1 : this.inTrace[place - 1]) - 1;
  }
}
