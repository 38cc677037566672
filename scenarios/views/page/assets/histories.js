"use strict";
// The values of each entity of the cluster, and the event from which each is valid. The state at any event is looked up in
// these histories: nothing is replayed.
//
// A family is an entity type. Families and values are those of entity_feed.py.

const NOTHING = { at: [], values: [] };

class Histories {
  constructor() {
    this.clear();
  }

  /** Forget all changes: another run begins. */
  clear() {
    this.families = new Map();
    this.places = new Map(); // family -> the index of the event of each change, ascending
    this.names = new Map();
    this.sorted = new Map(); // family -> the names of all entities, sorted
    this.present = new Map(); // family -> its entities after an event, and that event
  }

  /** Append the changes of a part of a run, which is appended already. Args: first: the index of the part's first event. */
  append(changes, texts, first) {
    for (const [family, { at, names, values }] of Object.entries(changes)) {
      const set = this.setter(family);
      for (const [i, place] of summed(at).entries()) {
        set(first + place, texts[names[i]], family === "znode" ? withData(values[i], texts) : values[i]);
      }
    }
  }

  /** Append the state before a part, which begins at an event, as RunSegments.shown writes it. */
  appendState(state, place) {
    for (const [family, { names, values }] of Object.entries(state)) {
      const set = this.setter(family);
      for (const [i, name] of names.entries()) if (values[i] !== null || this.at(place, family, name) !== null) set(place, name, values[i]);
    }
  }

  /** Return a function that sets the value of an entity of a family from an event on. */
  setter(family) {
    if (!this.families.has(family)) {
      this.families.set(family, new Map());
      this.places.set(family, []);
      this.names.set(family, []);
    }
    const [things, places, changed] = [this.families.get(family), this.places.get(family), this.names.get(family)];
    return (place, name, value) => {
      let history = things.get(name);
      if (history === undefined) {
        things.set(name, (history = { at: [], values: [] }));
        this.sorted.delete(family);
      }
      if (history.at.at(-1) === place) history.values.pop();
      else {
        history.at.push(place);
        places.push(place);
        changed.push(name);
      }
      history.values.push(value);
    };
  }

  /**
   * Take the new indices of the events when some were left out. Args: newPlaces: see Run.thin; stretches: with the new indices.
   * Outside of them only the families that the lanes show keep what is not needed to know the state within.
   */
  thin(newPlaces, stretches) {
    const [families, ends] = [this.families, stretches.flat()];
    this.clear();
    for (const [family, things] of families) {
      const isOfLanes = LANE_FAMILIES.has(family);
      const changes = [];
      for (const [name, { at, values }] of things) {
        for (let i = 0; i < at.length; i++) {
          const place = isOfLanes ? newPlaces[at[i]] : nextKnown(newPlaces[at[i]], stretches, ends);
          const next = i + 1 < at.length ? newPlaces[at[i + 1]] : Infinity;
          if (next > place) changes.push([place, name, values[i]]);
        }
      }
      const set = this.setter(family);
      for (const [place, name, value] of changes.sort((one, other) => one[0] - other[0])) set(place, name, value);
    }
  }

  /** Return the names of all entities of a family that ever existed. */
  namesOf(family) {
    if (!this.sorted.has(family)) this.sorted.set(family, [...(this.families.get(family)?.keys() ?? [])].sort(byName));
    return this.sorted.get(family);
  }

  history(family, name = "") {
    return this.families.get(family)?.get(name) ?? NOTHING;
  }

  /** Return the value of an entity after an event; null if it does not exist. */
  at(place, family, name = "") {
    const history = this.history(family, name);
    const found = lastNotAbove(history.at, place);
    return found < 0 ? null : history.values[found];
  }

  /**
   * Return all entities of a family that exist after an event: a Map from name to value, valid until the next call. It is
   * made from that of the last call by the changes between.
   */
  allAt(place, family) {
    const places = this.places.get(family) ?? [];
    const end = lastNotAbove(places, place) + 1;
    const present = this.present.get(family) ?? { all: new Map(), end: 0 };
    this.present.set(family, present);
    const names = this.names.get(family) ?? [];
    for (let i = Math.min(present.end, end); i < Math.max(present.end, end); i++) {
      const value = this.at(place, family, names[i]);
      if (value === null) present.all.delete(names[i]);
      else present.all.set(names[i], value);
    }
    present.end = end;
    return present.all;
  }

  /** Return the names of the entities of a family that an event has changed. */
  namesChangedAt(place, family) {
    const places = this.places.get(family) ?? [];
    return (this.names.get(family) ?? []).slice(lastNotAbove(places, place - 1) + 1, lastNotAbove(places, place) + 1);
  }

  /** Return the changes made by an event: {family, name, before, after}. */
  changesAt(place) {
    const found = [];
    for (const [family, places] of this.places) {
      const names = this.names.get(family);
      for (let i = lastNotAbove(places, place); i >= 0 && places[i] === place; i--) {
        const before = place === 0 ? null : this.at(place - 1, family, names[i]);
        const after = this.at(place, family, names[i]);
        if (JSON.stringify(before) !== JSON.stringify(after)) found.push({ family, name: names[i], before, after });
      }
    }
    return found.reverse();
  }

  /** Yield the parts of an entity's history: [value, first, end), as indices of events; the last part ends at `length`. */
  *parts(family, name, length) {
    const { at, values } = this.history(family, name);
    for (let i = 0; i < at.length; i++) yield [values[i], at[i], i + 1 < at.length ? at[i + 1] : length];
  }
}

/** Families of which the lanes show a whole run, as LANE_ENTITY_TYPES names them. */
const LANE_FAMILIES = new Set(["process", "role", "link", "registered", "controller", "epoch", "owned", "group"]);

/** Return an event, or if it is in none of the stretches, the beginning of the next one. Args: ends: their ends and beginnings. */
function nextKnown(place, stretches, ends) {
  const border = lastNotAbove(ends, place);
  return border % 2 === 0 ? place : stretches[(border + 1) / 2]?.[0] ?? place;
}

/** Return a znode's value with the text of its data in it. */
const withData = (value, texts) => (value === null || value[0] === null ? value : [texts[value[0]], ...value.slice(1)]);

/** Return the cluster after an event, as the page shows it, as JSON: for programs and for the page's tests. */
function stateAt(histories, place) {
  const state = {};
  for (const family of histories.families.keys()) {
    const all = histories.allAt(place, family);
    state[family] = Object.fromEntries([...all.keys()].sort().map((name) => [name, all.get(name)]));
  }
  return state;
}
