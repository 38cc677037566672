"use strict";
// One event: its sentence, its changes, its causes, its effects, and all its columns.

const MOST_CHANGES = 40;
const MOST_FOLLOWERS = 8;
const CHAIN_HEAD = 3;
const CHAIN_TAIL = 8;

function showStory(panel, run, histories, place) {
  const title = element("h2", {}, element("span", { class: "node" }, run.node(place)), " ", run.says(place));
  const facts = element(
    "p",
    { class: "muted" },
    momentLink(run.seqs[place], `#${run.seqs[place]}`),
    ` · ${seconds(run.times[place])} · ${run.kind(place)}`,
    wallClock(run.about.epoch_ms, run.times[place]),
  );
  panel.replaceChildren(title, facts, changesPart(run, histories, place), whyPart(run, place), followersPart(run, place), columnsPart(run, place));
}

/** Return the wall-clock time of an event, for a run whose start time is known. */
function wallClock(epoch_ms, t_ms) {
  const date = new Date(epoch_ms + t_ms);
  return epoch_ms === null || Number.isNaN(date.getTime()) ? "" : ` · ${date.toISOString()}`;
}

// --- changes

function changesPart(run, histories, place) {
  const changes = histories.changesAt(place).filter(({ family }) => family !== "session" && family !== "metric");
  const leftOut = run.leftOutBefore(place);
  const since = leftOut ? `, with the ${plural(leftOut, "event")} before it that this page leaves out` : "";
  if (!changes.length) return element("p", { class: "nothing" }, "It changed nothing that is shown here.");
  const left = changes.length - MOST_CHANGES;
  return element(
    "section",
    {},
    element("h3", {}, `What it changed${since}`),
    element("ul", { class: "changes" }, changes.slice(0, MOST_CHANGES).map(changeItem)),
    left > 0 ? element("p", { class: "muted" }, `… and ${plural(left, "more thing")}`) : "",
  );
}

function changeItem({ family, name, before, after }) {
  const sign = before === null ? "+" : after === null ? "−" : "●";
  const word = before === null ? "new" : after === null ? "gone" : "changed";
  const lines = family === "znode" ? znodeDifferences(before, after) : differences(named(family, before), named(family, after));
  const title = family === "znode" ? name : `${WORDS[family]} ${name}`.trim();
  return element(
    "li",
    { class: word },
    element("span", { class: "sign", title: word }, sign, element("span", { class: "hidden" }, ` ${word}: `)),
    element("b", {}, title),
    element("ul", {}, lines.map((line) => element("li", {}, line))),
  );
}

const WORDS = {
  process: "process",
  role: "controller module of",
  link: "session of",
  registered: "registration of",
  controller: "the controller",
  epoch: "the controller epoch",
  owned: "consumed by",
  partition: "partition",
  group: "group",
};
const FIELDS = {
  link: ["session", "as it sees it", "as ZooKeeper sees it"],
  registered: ["broker epoch", "rack"],
  partition: ["replicas", "leader", "leader epoch", "ISR", "state", "adding", "removing"],
  group: ["state", "generation"],
  owned: ["partitions", "group"],
};

/** Return a value with names for its parts, for comparison. */
function named(family, value) {
  if (value === null) return null;
  if (family === "role") return `epoch ${value}`;
  const fields = FIELDS[family];
  if (!fields) return value;
  const parts = Object.fromEntries(fields.map((field, i) => [field, value[i]]));
  if (family === "partition") {
    parts.state = { o: "offline", u: "under-replicated", ou: "offline, under-replicated", d: "to be deleted" }[parts.state] ?? "ok";
    parts.leader = parts.leader < 0 ? "none" : parts.leader;
    if (!parts.adding.length) delete parts.adding;
    if (!parts.removing.length) delete parts.removing;
  }
  return parts;
}

function znodeDifferences(before, after) {
  if (after === null) return [`had ${short(before[0])}`];
  if (before === null) return [`${short(after[0])}${after[4] ? ", ephemeral" : ""}`];
  return [...differences(parsed(before[0]), parsed(after[0])), `version ${before[1]} → ${after[1]}`];
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Return the differences of two JSON values, a line for each field: `leader: 1 → 3`. */
function differences(before, after, path = "") {
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (isObject(before) && isObject(after)) {
    const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return fields.flatMap((field) => differences(before[field], after[field], path ? `${path}.${field}` : field));
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const label = path ? `${path}: ` : "";
  if (before === undefined || before === null) return isObject(after) && !path ? Object.entries(after).map(([k, v]) => `${k}: ${short(v)}`) : [`${label}${short(after)}`];
  return [`${label}${short(before)} → ${short(after)}`];
}

function short(value) {
  if (value === null || value === undefined) return "none";
  const isPlain = (item) => item === null || typeof item !== "object";
  const isList = Array.isArray(value) && value.every(isPlain);
  const text = typeof value === "string" ? value : isList ? `[${value.join(", ")}]` : JSON.stringify(value).replaceAll(",", ", ");
  return text.length > 300 ? `${text.slice(0, 300)} …` : text || "empty";
}

// --- causes

function whyPart(run, place) {
  const chain = run.chain(place);
  const first = chain[0];
  const missing = run.causeSeq(first);
  const items = chain.map((at, level) => element("li", { class: at === place ? "selected" : null, "aria-current": at === place ? "step" : null }, stepLine(run, at, level)));
  const list = element("ol", { class: "why" });
  const leftOut = items.length - CHAIN_HEAD - CHAIN_TAIL;
  if (leftOut > 1) {
    const more = element("button", { type: "button", onclick: () => list.replaceChildren(...items) }, `… ${leftOut} more steps`);
    list.append(...items.slice(0, CHAIN_HEAD), element("li", {}, more), ...items.slice(-CHAIN_TAIL));
  } else list.append(...items);
  return element(
    "section",
    {},
    element("h3", {}, "Why"),
    missing === null ? "" : missingCause(run, first, missing),
    list,
  );
}

/** Say that the page does not have the event from which the first one of a chain follows, and lead there if it can be had. */
function missingCause(run, first, missing) {
  const begins = `#${run.seqs[first]} follows from `;
  if (!run.canFetch) return element("p", { class: "muted" }, `${begins}#${missing}, which the trace does not have before it`);
  return element("p", { class: "muted elsewhere" }, begins, momentLink(missing, `#${missing}`), ", which has not been sent to this page: go there to see it");
}

function stepLine(run, place) {
  return [
    momentLink(run.seqs[place], `#${run.seqs[place]}`),
    element("span", { class: "when" }, seconds(run.times[place])),
    element("span", { class: "node" }, run.node(place)),
    element("span", {}, run.says(place)),
  ];
}

function followersPart(run, place) {
  const followers = run.followers(place);
  if (!followers.length) return "";
  const left = followers.length - MOST_FOLLOWERS;
  return element(
    "section",
    {},
    element("h3", {}, "What followed directly"),
    element("ul", { class: "why" }, followers.slice(0, MOST_FOLLOWERS).map((at) => element("li", {}, stepLine(run, at)))),
    left > 0 ? element("p", { class: "muted" }, `… and ${left} more`) : "",
  );
}

// --- all columns

function columnsPart(run, place) {
  const cause = run.causeSeq(place);
  const rows = [["seq", run.seqs[place]], ["t_ms", run.times[place]], ["node", run.node(place)], ["kind", run.kind(place)]];
  if (cause !== null) rows.push(["cause", cause]);
  rows.push(...run.values(place));
  const cell = (name, value) => {
    if (name === "cause") return momentLink(value, `#${value}`);
    if (name === "data") return element("pre", {}, pretty(value));
    return Array.isArray(value) ? value.join(", ") || "none" : String(value);
  };
  return element(
    "details",
    {},
    element("summary", {}, "All columns"),
    element("table", { class: "columns" }, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, cell(name, value)))))),
  );
}
