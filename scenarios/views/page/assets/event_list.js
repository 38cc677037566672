"use strict";
// The list of events. Only the visible rows exist as elements, however many events there are.

class EventList {
  /** `go` is called with the index of the event that the user has chosen. */
  constructor(run, go) {
    this.run = run;
    this.go = go;
    this.box = byId("list");
    this.rows = byId("rows");
    this.found = byId("found");
    this.inputs = ["search", "by-node", "by-kind", "by-partition", "of-note"].map(byId);
    this.now = 0;
    this.fillChoices();
    this.box.addEventListener("scroll", () => this.draw());
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    for (const input of this.inputs) input.addEventListener("input", () => this.filter());
    this.filter();
  }

  fillChoices() {
    const { run } = this;
    const options = (id, values) => byId(id).append(...values.map((value) => element("option", { value }, value)));
    const used = (places) => [...new Set(places)].map((place) => run.texts[place]).sort(byName);
    options("by-node", used(run.content.node));
    options("by-kind", used(run.content.kind));
    const topics = new Set();
    for (let place = 0; place < run.length; place++) this.subjects(place).forEach((subject) => topics.add(subject));
    options("by-partition", [...topics].sort(byName).slice(0, 2000));
  }

  /** Return the topic and the partition that an event is about, from its columns or its path. */
  subjects(place) {
    const { run } = this;
    let [topic, partition] = [run.value(place, "topic"), run.value(place, "partition")];
    if (topic === undefined) {
      const [, inPath, , number] = (run.value(place, "path") ?? "").match(/^\/brokers\/topics\/([^/]+)(\/partitions\/(\d+))?/) ?? [];
      [topic, partition] = [inPath, number];
    }
    if (topic === undefined) return [];
    return partition === undefined ? [topic] : [topic, `${topic}-${partition}`];
  }

  /** List the events that match the filter. */
  filter() {
    const { run } = this;
    const [search, node, kind, subject, ofNote] = this.inputs.map((input) => (input.type === "checkbox" ? input.checked : input.value));
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (place) => {
      const text = `#${run.seqs[place]} ${run.node(place)} ${run.kind(place)} ${run.says(place)} ${run.value(place, "path") ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    this.places = [];
    for (let place = 0; place < run.length; place++) {
      if (ofNote && run.ranks[place] === ORDINARY) continue;
      if (node && run.node(place) !== node) continue;
      if (kind && run.kind(place) !== kind) continue;
      if (subject && !this.subjects(place).includes(subject)) continue;
      if (words.length && !has(place)) continue;
      this.places.push(place);
    }
    this.found.textContent = `${this.places.length.toLocaleString("en")} of ${plural(run.length, "event")}`;
    this.resize();
  }

  resize() {
    this.height = parseFloat(getComputedStyle(this.box).getPropertyValue("--row"));
    this.rows.style.height = `${this.places.length * this.height}px`;
    this.reveal();
    this.draw();
  }

  draw() {
    const first = Math.max(Math.floor(this.box.scrollTop / this.height) - 4, 0);
    const end = Math.min(first + Math.ceil(this.box.clientHeight / this.height) + 8, this.places.length);
    const rows = [];
    for (let i = first; i < end; i++) rows.push(this.row(i));
    this.rows.replaceChildren(...rows);
    const isListed = this.places[this.nowListed] === this.now && first <= this.nowListed && this.nowListed < end;
    if (isListed) this.box.setAttribute("aria-activedescendant", `row-${this.nowListed}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  row(i) {
    const { run } = this;
    const place = this.places[i];
    const isNow = place === this.now;
    const sign = run.ranks[place] === KEY_EVENT ? SIGNS[signOf(run, place)][0] : "";
    const made = element(
      "div",
      {
        role: "option", id: `row-${i}`, class: `row rank-${run.ranks[place]}`, "aria-selected": String(isNow),
        "aria-posinset": i + 1, "aria-setsize": this.places.length, onclick: () => this.go(place),
      },
      element("span", { class: "when" }, seconds(run.times[place]).replace(/ s$/, "")),
      element("span", { class: "sign", "aria-hidden": "true" }, sign),
      element("span", { class: "node" }, run.node(place)),
      element("span", { class: "says" }, run.says(place)),
    );
    made.style.top = `${i * this.height}px`;
    return made;
  }

  /** The row of the current event: the last row that is not after it; -1 if all rows are after it. */
  get nowListed() {
    return lastNotAbove(this.places, this.now);
  }

  show(place) {
    this.now = place;
    this.reveal();
    this.draw();
  }

  reveal() {
    const top = Math.max(this.nowListed, 0) * this.height;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight) this.box.scrollTop = Math.max(top - clientHeight / 2, 0);
  }

  /** Return the event of the row before (-1) or after (+1) the current event; null if there is none. */
  step(by) {
    const at = this.nowListed;
    const isOnRow = this.places[at] === this.now;
    return this.places[by > 0 ? at + 1 : isOnRow ? at - 1 : at] ?? null;
  }
}
