"use strict";
// The links between brokers, as the faults and the healing of the network in the event log have left them.

const LINK_FAULTS = { partition: "cut", "slow-link": "slow", "lossy-link": "lossy" };
const SIGNS_OF_LINKS = { cut: "✖", slow: "~", lossy: "%" };
const MOST_BROKERS_IN_TABLE = 12;

class LinkStates {
  constructor() {
    this.read = 0;
    this.faults = []; // those in effect: {place, type, selects}
  }

  /** Read the events that were appended to the run. */
  follow(run) {
    for (; this.read < run.length; this.read++) {
      const place = this.read;
      if (run.node(place) !== "scenario") continue;
      const type = LINK_FAULTS[run.value(place, "fault")];
      if (run.kind(place) === "Fault" && type) this.faults.push({ place, type, selects: selector(run, place), detail: run.value(place, "detail") });
      if (run.kind(place) === "AdminAct" && run.value(place, "op") === "heal") this.heal(run, place);
    }
  }

  /** Take the new indices of the events when some were left out. */
  thin(newPlaces) {
    this.read = newPlaces[this.read - 1] + 1;
    for (const fault of this.faults) fault.place = newPlaces[fault.place];
  }

  /** A healing ends the fault that it follows from, or all faults of the links that it names. */
  heal(run, place) {
    const cause = run.cause(place);
    if (cause !== null) this.faults = this.faults.filter((fault) => fault.place !== cause);
    else this.faults.push({ place, type: null, selects: selector(run, place) });
  }

  /** Return the faults of the link between two brokers, in either direction: of each type, the latest that is not healed. */
  between(one, other) {
    const found = new Map();
    for (const { type, selects, detail } of this.faults) {
      if (!selects(one, other) && !selects(other, one)) continue;
      if (type === null) found.clear();
      else found.set(type, detail);
    }
    return found;
  }
}

/** Return a function that says whether the links of an event contain the one from a node to another. */
function selector(run, place) {
  const [sources, targets] = [run.value(place, "sources"), run.value(place, "targets")];
  const has = (names, name) => names === undefined || names === null || names.includes(name);
  const isBothWays = run.value(place, "both_ways");
  return (from, to) => (has(sources, from) && has(targets, to)) || (isBothWays && has(sources, to) && has(targets, from));
}

/** Return a table of the links, each cell a button that opens the menu of its link. */
function linkTable(states, brokers) {
  if (brokers.length > MOST_BROKERS_IN_TABLE) return element("p", { class: "muted" }, "Of more than 12 brokers, write a step: partition: {between: broker-1, and: broker-2}");
  const cell = (one, other) => {
    if (byName(one, other) >= 0) return element("td", {});
    const faults = states.between(one, other);
    const words = faults.size ? [...faults.keys()].join(", ") : "as it should be";
    const sign = [...faults.keys()].map((type) => SIGNS_OF_LINKS[type]).join("") || "·";
    const name = `${one} and ${other}`;
    return element("td", {}, element("button", { type: "button", class: `act-on link-cell ${faults.size ? "bad" : ""}`, "aria-haspopup": "dialog", "aria-label": `Acts on ${name}`, title: `${name}: ${words}`, "data-type": "link", "data-name": name, "data-state": [...faults.keys()].join(" ") }, sign));
  };
  const head = brokers.slice(1).map((name) => element("th", { scope: "col" }, name));
  const rows = brokers.slice(0, -1).map((one) => element("tr", {}, element("th", { scope: "row" }, one), brokers.slice(1).map((other) => cell(one, other))));
  return element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Link"), head)), element("tbody", {}, rows));
}
