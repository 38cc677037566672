"use strict";
// The values of each entity of the cluster, and the event from which each is valid. The state at any event is looked up in
// these histories: nothing is replayed.
//
// A family is an entity type. Families and values are those of entity_feed.py.

const NOTHING = { at: [], values: [] };

class Histories {
  constructor(changes, texts) {
    this.load(changes, texts);
  }

  /** Take the changes of a run in place of those before. */
  load(changes, texts) {
    this.families = new Map();
    this.places = new Map(); // family -> the index of the event of each change, ascending
    this.names = new Map();
    this.append(changes, texts);
  }

  /** Append changes, those of a finished run or of a part of one that goes on. */
  append(changes, texts) {
    for (const [family, written] of Object.entries(changes)) {
      if (!this.families.has(family)) {
        this.families.set(family, new Map());
        this.places.set(family, []);
        this.names.set(family, []);
      }
      const things = this.families.get(family);
      const places = summed(written.at, this.places.get(family).at(-1) ?? 0);
      const names = written.names.map((name) => texts[name]);
      for (let i = 0; i < places.length; i++) {
        if (!things.has(names[i])) things.set(names[i], { at: [], values: [] });
        const history = things.get(names[i]);
        history.at.push(places[i]);
        history.values.push(family === "znode" ? withData(written.values[i], texts) : written.values[i]);
      }
      appendAll(this.places.get(family), places);
      appendAll(this.names.get(family), names);
    }
  }

  /** Return the names of all entities of a family that ever existed. */
  namesOf(family) {
    return [...this.families.get(family).keys()].sort(byName);
  }

  history(family, name = "") {
    return this.families.get(family).get(name) ?? NOTHING;
  }

  /** Return the value of an entity after an event; null if it does not exist. */
  at(place, family, name = "") {
    const history = this.history(family, name);
    const found = lastNotAbove(history.at, place);
    return found < 0 ? null : history.values[found];
  }

  /** Return all entities of a family that exist after an event: a Map from name to value. */
  allAt(place, family) {
    const found = new Map();
    for (const name of this.families.get(family).keys()) {
      const value = this.at(place, family, name);
      if (value !== null) found.set(name, value);
    }
    return found;
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

/** Return a znode's value with the text of its data in it. */
const withData = (value, texts) => (value === null || value[0] === null ? value : [texts[value[0]], ...value.slice(1)]);

/** Return the cluster after an event, as the page shows it, as JSON: for programs and for the page's tests. */
function stateAt(histories, place) {
  const state = {};
  for (const family of histories.families.keys()) state[family] = Object.fromEntries(histories.allAt(place, family));
  return state;
}
