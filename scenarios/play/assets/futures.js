"use strict";
// The futures of the run: a list of them, and two of them one above the other with their differences.

const MOST_DIFFERENCES = 12;
const MOST_STEPS_IN_LIST = 3;

class Futures {
  /** `send` asks the server for something. */
  constructor(send) {
    this.send = send;
    this.forks = { now: 0, all: [] };
    this.now_ms = 0;
    this.compared = null;
    this.pictures = [];
    window.addEventListener("resize", () => this.draw());
    byId("theme").addEventListener("click", () => this.draw());
  }

  get shown() {
    return this.forks.all.find(({ number }) => number === this.forks.now);
  }

  nameOf(number) {
    return this.forks.all.find((fork) => fork.number === number)?.name ?? "a forgotten one";
  }

  // --- the list

  show(forks) {
    const isOther = forks.now !== this.forks.now;
    this.forks = forks;
    if (isOther && this.compared !== null) this.close();
    const list = byId("future-list");
    byId("futures").hidden = forks.all.length < 2;
    if (!list.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") list.replaceChildren(...forks.all.map((fork) => this.item(fork)));
  }

  showClock(now_ms) {
    this.now_ms = now_ms;
    const until = byId("future-list").querySelector(".now .until");
    if (until !== null) until.textContent = seconds(now_ms);
  }

  item(fork) {
    const { number, name, origin, from_ms, now_ms, acts } = fork;
    const isNow = number === this.forks.now;
    const steps = acts.slice(-MOST_STEPS_IN_LIST).map(([at_ms, step]) => `${step} at ${seconds(at_ms)}`);
    const earlier = acts.length > MOST_STEPS_IN_LIST ? [plural(acts.length - MOST_STEPS_IN_LIST, "earlier act")] : [];
    const begins = origin === null ? "from the beginning" : `parts from ${this.nameOf(origin)} at ${seconds(from_ms)}`;
    return element(
      "li",
      { class: isNow ? "now" : null },
      element("button", { type: "button", class: "future", "aria-pressed": String(isNow), onclick: () => this.send({ future: number }) }, name),
      element("span", { class: "muted" }, `${begins}, until `, element("span", { class: "until" }, seconds(now_ms ?? this.now_ms))),
      element("span", {}, [...earlier, ...steps].join("; ") || (origin === null ? "" : "nothing done")),
      isNow ? "" : element("button", { type: "button", onclick: () => this.send({ compare: number }) }, `Compare with ${this.shown?.name ?? ""}`),
      element("button", { type: "button", class: "live", onclick: (event) => this.rename(fork, event.target.closest("li")) }, "Rename"),
      isNow ? "" : element("button", { type: "button", class: "live", onclick: () => this.send({ forget: number }) }, "Forget"),
    );
  }

  rename({ number, name }, item) {
    const input = element("input", { type: "search", value: name, maxlength: 60, "aria-label": "Name of this future" });
    const end = (isWanted) => {
      if (isWanted && input.value.trim()) this.send({ name: input.value, of: number });
      input.remove();
      this.show(this.forks);
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    item.prepend(input);
    input.focus();
    input.select();
  }

  // --- two futures

  /** Show two futures, the other one above. Args: other: the parts of its run; other_about: the facts about it. */
  compare({ compared, other: parts, other_about: about }) {
    this.compared = compared;
    const { left, right, until_ms } = compared;
    const other = joined(about, parts);
    const shown = { run: kcsim.run, histories: kcsim.histories };
    const latest = Math.max(left.now_ms, right.now_ms ?? 0, this.now_ms);
    const sides = [[left, other], [right, shown]].map(([fork, { run, histories }]) => this.side(fork, run, histories, latest));
    const behind = left.now_ms > this.now_ms ? element("button", { type: "button", class: "live", onclick: () => this.goOn(left) }, `Let ${right.name} go on until ${seconds(left.now_ms)}, too`) : "";
    byId("comparison").replaceChildren(
      element("header", {}, element("h2", {}, `${left.name} and ${right.name}, compared until ${seconds(until_ms)}`), behind, element("button", { type: "button", onclick: () => this.close() }, "Close")),
      ...sides.map(({ box }) => box),
      this.parting(compared),
      this.table("What came of it", [...compared.outcome, ...compared.end], compared),
      this.otherEvents(compared),
      this.table("Znodes at the end", compared.znodes, compared, true),
    );
    byId("comparison").hidden = false;
    this.pictures = sides.map(({ picture }) => picture);
    this.draw();
  }

  /** Let the shown future come as far as another one, and compare them then. */
  goOn({ number, now_ms }) {
    this.again = number;
    this.until_ms = now_ms;
    this.send({ until: now_ms });
  }

  /** Compare again when the shown future has come as far as was asked for. */
  showReached({ now_ms, behind }) {
    if (this.again === undefined || behind || now_ms < this.until_ms) return;
    this.send({ compare: this.again });
    delete this.again;
  }

  /** Return a future's story and its lanes. */
  side({ name, story }, run, histories, latest) {
    const canvas = element("canvas", { role: "img", "aria-label": `Lanes of ${name}; its story and the differences are beside it in words.` });
    const axis = element("canvas", { "aria-hidden": "true" });
    const scale = new Scale(run);
    scale.until_ms = latest;
    const picture = new Picture(run, histories, scale, canvas, axis);
    picture.lanes = picture.lanes.filter(({ type, name: lane }) => type !== "marks" || lane === "scenario");
    const lanes = element("div", { class: "lanes" }, canvas);
    const box = element(
      "article",
      { "aria-label": `Future ${name}` },
      element("h3", {}, name),
      element("ol", {}, story.length ? story.map((sentence) => element("li", {}, sentence)) : element("li", {}, "Nothing of note happened.")),
      axis,
      lanes,
    );
    return { box, picture };
  }

  draw() {
    for (const picture of this.pictures) picture.resize();
  }

  /** Return the first events at which the two differ, each with what led to it. */
  parting({ parting, left, right }) {
    if (parting === null) return element("p", {}, "Both are the same, but for when things happened.");
    const chain = (side, name) => {
      const why = parting[`${side}_why`];
      const last = why.at(-1);
      const words = parting[side] === null ? "nothing more happens there" : last ? `${seconds(last.t_ms)} ${last.node} ${last.says}` : "nothing happens there";
      const causes = why.slice(0, -1).map((event) => element("li", {}, `${seconds(event.t_ms)} ${event.node} ${event.says}`));
      return element("li", {}, element("b", {}, `${name}: `), words, parting[side] !== null && causes.length ? element("details", {}, element("summary", {}, "Why"), element("ol", {}, causes)) : "");
    };
    return element("section", {}, element("h3", {}, `The first difference: ${parting.where}`), element("ul", {}, chain("left", left.name), chain("right", right.name)));
  }

  table(title, differences, { left, right }, isClosed = false) {
    if (!differences.length) return "";
    const row = ({ what, left: one, right: other }) => element("tr", {}, element("th", { scope: "row" }, what), element("td", {}, short(one)), element("td", {}, short(other)));
    const head = ["", left.name, right.name].map((name) => element("th", { scope: "col" }, name));
    const rows = element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, differences.map(row)));
    return element("details", { open: !isClosed && differences.length <= 4 * MOST_DIFFERENCES }, element("summary", {}, `${title}: ${plural(differences.length, "difference")}`), element("div", { class: "scroll" }, rows));
  }

  /** Return what happened in one of the two only, for each partition, znode and node. */
  otherEvents({ divergences, left, right }) {
    if (!divergences.length) return "";
    const lines = (name, events) => events.slice(0, MOST_DIFFERENCES).map((event) => element("li", {}, `${name}: ${seconds(event.t_ms)} ${event.node} ${event.says}`));
    const items = divergences.map((one) => element("li", {}, element("b", {}, one.where), element("ul", {}, lines(left.name, one.left), lines(right.name, one.right))));
    return element("details", {}, element("summary", {}, `What happened otherwise: at ${plural(divergences.length, "place")}`), element("ul", { class: "divergences" }, items));
  }

  close() {
    this.compared = null;
    this.pictures = [];
    byId("comparison").hidden = true;
    byId("comparison").replaceChildren();
  }
}
