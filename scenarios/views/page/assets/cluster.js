"use strict";
// The cluster at a point in time, as text and cards: live brokers, the controller, leaders and followers of partitions.

const MOST_CHIPS = 16;
const MOST_ROWS = 100;
const ROWS_OF_MANY = 20;
const NOT_WORKING = {
  frozen: "frozen, decides nothing",
  dead: "dead, decides nothing",
  stopped: "stopped",
  "cut off": "cut off from ZooKeeper",
  "not ready": "not yet ready",
  "out of office": "its writes are refused",
};
const STATES = {
  running: ["●", "up"],
  paused: ["‖", "frozen"],
  stopped: ["▼", "stopped"],
  dead: ["✖", "dead"],
  unknown: ["○", "not started"],
  unseen: ["○", "not there"], // for a trace without process events
};

class ClusterPanel {
  /** Args: matrix: for the partitions, if they are many. */
  constructor(panel, run, histories, matrix) {
    Object.assign(this, { panel, run, histories, matrix });
    [this.above, this.below, this.rest] = [element("div"), element("div"), element("div")];
    this.cells = element("div", {}, matrix.elements);
    this.list = element("ul", { class: "cards", "aria-label": "Brokers" });
    this.cards = new Map(); // broker -> what its card shows, as a text, and the card: it is made anew when that has changed
    this.content = [element("h2", { class: "hidden" }, "The cluster"), this.above, this.list, this.below, this.cells, this.rest];
  }

  /** Show the cluster after an event. */
  show(controllers, place) {
    const { panel, run, histories, matrix } = this;
    if (!run.isKnown(place)) {
      panel.replaceChildren(element("p", { class: "notice" }, outsideText(run, place)));
      return;
    }
    const partitions = histories.allAt(place, "partition");
    const brokers = brokersAt(histories, controllers, place, partitions);
    const clients = [...histories.allAt(place, "owned")].sort((a, b) => byName(a[0], b[0]));
    const areMany = partitions.size > MOST_WITHOUT_MATRIX;
    if (this.list.parentElement !== panel) panel.replaceChildren(...this.content);
    this.above.replaceChildren(summary(run, histories, controllers, place, partitions, brokers), clients.length ? consumersPart(histories, place, clients) : "");
    this.showCards(brokers);
    this.below.replaceChildren(members(histories, place));
    this.cells.hidden = !areMany;
    this.rest.replaceChildren(
      partitions.size ? partitionTable(histories, place, partitions, partitions.size > MOST_ROWS ? ROWS_OF_MANY : MOST_ROWS) : "",
      metricsPart(histories, place),
    );
    if (areMany) matrix.draw(partitions, place, panel);
  }

  showCards(brokers) {
    this.list.classList.toggle("small", brokers.length > 12);
    const cards = brokers.map((broker) => {
      const few = (names) => (names.length > MOST_CHIPS ? names.length : names);
      const shows = JSON.stringify({ ...broker, leads: few(broker.leads), follows: few(broker.follows), behind: few(broker.behind) });
      if (this.cards.get(broker.id)?.shows !== shows) this.cards.set(broker.id, { shows, card: brokerCard(broker) });
      return this.cards.get(broker.id).card;
    });
    for (const [i, card] of cards.entries()) if (this.list.children[i] !== card) this.list.insertBefore(card, this.list.children[i] ?? null);
    while (this.list.children.length > cards.length) this.list.lastChild.remove();
  }
}

/** Return the width that the content of a panel has, without a scroll bar. */
function contentWidth(panel) {
  const { paddingLeft, paddingRight } = getComputedStyle(panel);
  return Math.max(Math.floor(panel.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)), 1);
}

/** The text of the panels at a point in time whose state the page does not have. */
function outsideText(run, place) {
  const seq = run.seqs[place];
  if (run.canFetch) return "What happened around this event is being fetched.";
  if (run.about.trace === null) return "Around this event the page has only what is of note, so the cluster of this moment is not in it.";
  return `Around this event the page has only what is of note, so the cluster of this moment is not in it. `
    + `kcsim report ${run.about.trace} --from '#${seq}' makes a page that has it.`;
}

/** Every broker that occurs in the run: its state, and the partitions that it leads and follows. */
function brokersAt(histories, controllers, place, partitions) {
  const found = new Map();
  const broker = (id) => {
    if (!found.has(id)) found.set(id, { id, leads: [], follows: [], behind: [] });
    return found.get(id);
  };
  for (const family of ["process", "registered"]) {
    for (const name of histories.namesOf(family)) if (name.startsWith(BROKER)) broker(Number(name.slice(BROKER.length)));
  }
  for (const [name, [replicas, leader, , isr]] of partitions) {
    for (const id of replicas) {
      if (id === leader) broker(id).leads.push(name);
      else (isr.includes(id) ? broker(id).follows : broker(id).behind).push(name);
    }
  }
  for (const [id, about] of found) {
    const name = `${BROKER}${id}`;
    about.name = name;
    about.registered = histories.at(place, "registered", name);
    const wasReported = histories.history("process", name).at.length > 0;
    about.state = histories.at(place, "process", name) ?? (about.registered ? "running" : wasReported ? "unknown" : "unseen");
    about.link = histories.at(place, "link", name);
    about.role = histories.at(place, "role", name);
    about.isController = histories.at(place, "controller") === id;
    about.isWorking = controllers.isWorking(id, place);
    about.why = whyNotWorking(histories, controllers, name, place);
    about.epoch = histories.at(place, "epoch");
  }
  return [...found.values()].sort((a, b) => a.id - b.id);
}

function summary(run, histories, controllers, place, partitions, brokers) {
  const controller = histories.at(place, "controller");
  const epoch = histories.at(place, "epoch");
  const registered = brokers.filter((broker) => broker.registered).length;
  const counted = (flag) => [...partitions.values()].filter((value) => value[4].includes(flag)).length;
  const [offline, under] = [counted("o"), counted("u")];
  const haltedNow = haltedLeaders(histories, place);
  const isUnled = ([, leader, , , flags]) => flags.includes("o") || haltedNow(leader) !== null;
  const halted = [...partitions.values()].filter(isUnled).length;
  const fact = (what, text, isBad = false) => element("div", { class: isBad ? "bad" : null }, element("dt", {}, what), element("dd", {}, text));
  return element(
    "dl",
    { class: "facts" },
    fact(controllers.isKnown ? "Working controller" : "Controller", ...workingController(run, controllers, place)),
    fact("/controller names", controller === null ? "nobody" : `broker-${controller}`),
    fact("Controller epoch", epoch === null ? "none yet" : String(epoch)),
    fact("Registered", `${registered} of ${plural(brokers.length, "broker")}`, registered < brokers.length),
    fact("Partitions", partitions.size.toLocaleString("en")),
    fact("No working leader", `${halted ? "✖ " : ""}${halted}`, halted > 0),
    fact("Offline", `${offline ? "✖ " : ""}${offline}`, offline > 0),
    fact("Under-replicated", `${under ? "▽ " : ""}${under}`, under > 0),
  );
}

/** Return the working controller as text, and whether its absence is a problem: not before the first one. */
function workingController(run, controllers, place) {
  const now = controllers.at(place);
  if (now === null) return ["none yet"];
  if (now.broker !== null) return [`★ broker-${now.broker}`];
  return [`✖ none since ${seconds(run.times[now.first])}`, true];
}

function brokerCard(broker) {
  const [sign, word] = STATES[broker.state] ?? STATES.unknown;
  const rack = broker.registered?.[1];
  return element(
    "li",
    { class: `card ${broker.state}${broker.isWorking ? " controller" : broker.isController ? " in-office" : ""}`, "data-broker": broker.id },
    element("h3", {}, broker.name, element("span", { class: "state" }, `${sign} ${word}`)),
    roleOf(broker),
    element("p", { class: "muted" }, registrationOf(broker), rack ? `, rack ${rack}` : ""),
    chips(["running", "unseen"].includes(broker.state) ? "leads" : "named as leader of", "★", broker.leads),
    chips("in sync", "=", broker.follows),
    chips("not in sync", "≠", broker.behind),
  );
}

function roleOf({ isController, isWorking, role, epoch, why }) {
  if (isWorking) return element("p", { class: "role" }, `★ controller, epoch ${role ?? epoch}`);
  if (isController) return element("p", { class: "role idle" }, `☆ named in /controller, epoch ${role ?? epoch}: ${NOT_WORKING[why]}`);
  if (role !== null) return element("p", { class: "role zombie" }, `☆ still thinks that it is controller, epoch ${role}`);
  return null;
}

function registrationOf({ registered, link, state }) {
  const isUnseen = link && link[2] === "closed" && !["expired", "closed"].includes(link[1]) && (state === "running" || state === "paused");
  if (isUnseen) return "its session is gone, and it does not know";
  if (registered) return link?.[1] === "suspended" ? "registered; has lost its connection" : `registered, epoch ${registered[0]}`;
  return "not registered";
}

function chips(what, sign, names) {
  if (!names.length) return null;
  if (names.length > MOST_CHIPS) return element("p", { class: "many" }, `${sign} ${what}: ${plural(names.length, "partition")}`);
  const listed = names.sort(byName).map((name) => element("li", {}, name));
  return element("div", { class: `chips ${what.replaceAll(" ", "-")}` }, element("span", {}, `${sign} ${what}`), element("ul", {}, listed));
}

function consumersPart(histories, place, clients) {
  const groups = groupsOf(histories).map(({ name, of }) => {
    const found = histories.at(place, "group", name);
    if (found === null) return "";
    const gap = [...unconsumed(histories, of, place + 1)].find(([, first, end]) => first <= place && place < end);
    const missing = gap ? element("span", { class: "bad" }, `; ✖ not consumed: ${gap[0].join(", ")}`) : "";
    return element("p", {}, `Group ${name}: ${found[0]}, generation ${found[1]}`, missing);
  });
  const card = ([name, [owned]]) => {
    const state = histories.at(place, "process", name) ?? "running";
    const [sign, word] = STATES[state] ?? STATES.unknown;
    return element(
      "li",
      { class: `card ${state}`, "data-consumer": name },
      element("h3", {}, name, element("span", { class: "state" }, `${sign} ${word}`)),
      owned.length ? chips("consumes", "→", [...owned]) : element("p", { class: "muted" }, "consumes nothing"),
    );
  };
  return element("div", {}, element("h3", {}, "Consumers"), groups, element("ul", { class: "cards" }, clients.map(card)));
}

function members(histories, place) {
  const found = [...histories.allAt(place, "process")].filter(([name]) => name.startsWith(MEMBER));
  if (!found.length) return "";
  const states = found.map(([name, state]) => `${name} ${STATES[state]?.join(" ") ?? state}`).join(", ");
  return element("p", {}, `ZooKeeper servers with a fault or an action: ${states}`);
}

/** Return a table of partitions, those without a working leader first, then others in trouble. With `choose`, a name is a button that calls it. */
function partitionTable(histories, place, partitions, most = MOST_ROWS, choose = null) {
  const haltedNow = haltedLeaders(histories, place);
  const halted = ([, leader]) => haltedNow(leader);
  const severity = (value) => (value[4].includes("o") || halted(value) !== null ? 2 : value[4] !== "" ? 1 : 0);
  const shown = worstOf(histories.namesOf("partition"), partitions, severity, most);
  const row = ([name, [replicas, leader, epoch, isr, flags, adding, removing]]) => {
    const words = [flags.includes("d") && "to be deleted", flags.includes("o") ? "✖ offline" : halted([0, leader]) && `✖ leader is ${halted([0, leader])}`, flags.includes("u") && "▽ under-replicated"];
    if (adding.length || removing.length) words.push(`moves: + ${adding.join(", ") || "none"}, − ${removing.join(", ") || "none"}`);
    const label = choose ? element("button", { type: "button", class: "link", onclick: () => choose(name) }, name) : name;
    const cells = [label, leader < 0 ? "none" : leader, epoch ?? "", isr.join(", "), replicas.join(", "), words.filter(Boolean).join(", ")];
    return element("tr", { class: flags || halted([0, leader]) ? "bad" : null, "data-partition": name }, cells.map((cell) => element("td", {}, cell)));
  };
  const head = ["Partition", "Leader", "Epoch", "ISR", "Replicas", "Trouble"].map((name) => element("th", { scope: "col" }, name));
  const left = partitions.size - shown.length;
  return element(
    "div",
    { class: "scroll" },
    element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, shown.map(row))),
    left > 0 ? element("p", { class: "muted" }, `… and ${plural(left, "more partition")}; those in trouble come first`) : "",
  );
}

/** Return some entities, [name, value], the most severe first. Args: names: sorted. severity: returns 0, 1 or 2 for a value. */
function worstOf(names, entities, severity, most) {
  const found = [[], [], []];
  for (const name of names) {
    const value = entities.get(name);
    if (value === undefined) continue;
    const alike = found[severity(value)];
    if (alike.length < most) alike.push([name, value]);
    if (found[2].length === most) break;
  }
  return found.reverse().flat().slice(0, most);
}

function metricsPart(histories, place) {
  const metrics = [...histories.allAt(place, "metric")].sort((a, b) => byName(a[0], b[0]));
  if (!metrics.length) return "";
  const rows = metrics.map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", {}, value)));
  return element("details", {}, element("summary", {}, "Metrics of the controller, summed over all brokers"), element("table", {}, element("tbody", {}, rows)));
}
