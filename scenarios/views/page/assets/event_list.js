"use strict";
// The list of events. Only the visible rows exist as elements, however many events there are. A row is as high as its text,
// which wraps: heights are computed from the widths of the words, so that rows need not exist to be placed.

const ROW_PADDING = 5;
const MOST_SUBJECTS = 2000; // topics and partitions that are offered
const NARROW_LIST = 420;
const COLUMNS_WIDTH = 88; // time, sign, gaps and padding of a row

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
    this.places = []; // the listed events
    this.read = 0; // how many events of the run were looked at
    this.subjectsSeen = new Set();
    this.tops = [0]; // where each listed row begins, and where the last one ends
    this.pen = document.createElement("canvas").getContext("2d");
    this.widths = new Map(); // font and word -> its width
    this.box.addEventListener("scroll", () => this.draw());
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    for (const input of this.inputs) input.addEventListener("input", () => this.filter());
    this.grow();
  }

  /** Forget all events: some were left out of the run, or it is another one. */
  forget() {
    this.read = 0;
    this.places = [];
    this.tops = [0];
  }

  /** List the events that were appended to the run. */
  grow() {
    this.fillChoices(this.read);
    this.filter(this.read);
    this.read = this.run.length;
  }

  /** Offer all nodes, kinds, topics and partitions that occur from an event on. */
  fillChoices(first) {
    const { run } = this;
    const options = (id, values) => {
      const known = new Set([...byId(id).options].map((option) => option.value));
      byId(id).append(...values.filter((value) => !known.has(value)).map((value) => element("option", { value }, value)));
    };
    options("by-node", [...new Set(run.nodes.slice(first))].sort(byName));
    options("by-kind", [...new Set(run.kinds.slice(first))].sort(byName));
    const added = new Set();
    for (let place = first; place < run.length; place++) {
      for (const subject of this.subjects(place)) if (!this.subjectsSeen.has(subject)) added.add(subject);
    }
    const room = Math.max(MOST_SUBJECTS - this.subjectsSeen.size, 0);
    for (const subject of added) this.subjectsSeen.add(subject);
    options("by-partition", [...added].sort(byName).slice(0, room));
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

  /** List the events that match the filter; of those before `first`, they are listed already. */
  filter(first = 0) {
    const { run } = this;
    const [search, node, kind, subject, ofNote] = this.inputs.map((input) => (input.type === "checkbox" ? input.checked : input.value));
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (place) => {
      const text = `#${run.seqs[place]} ${run.node(place)} ${run.kind(place)} ${run.says(place)} ${run.value(place, "path") ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    if (first === 0) this.places = [];
    const listed = this.places.length;
    for (let place = first; place < run.length; place++) {
      if (ofNote && run.ranks[place] === ORDINARY) continue;
      if (node && run.node(place) !== node) continue;
      if (kind && run.kind(place) !== kind) continue;
      if (subject && !this.subjects(place).includes(subject)) continue;
      if (words.length && !has(place)) continue;
      this.places.push(place);
    }
    this.found.textContent = `${this.places.length.toLocaleString("en")} of ${plural(run.length, "event")}`;
    this.resize(listed);
  }

  /** Place the rows, those before `first` at where they are, and draw them. */
  resize(first = 0) {
    this.place(first);
    this.rows.style.height = `${this.tops.at(-1)}px`;
    this.box.classList.toggle("narrow", this.isNarrow);
    this.reveal();
    this.draw();
  }

  /** Compute where each row begins, from a row on. */
  place(first) {
    const { run } = this;
    const style = getComputedStyle(this.box);
    const size = parseFloat(style.fontSize);
    this.line = Math.round(size * 1.3);
    this.fonts = [`${size}px ${style.fontFamily}`, `600 ${size}px ${style.fontFamily}`];
    this.isNarrow = this.box.clientWidth < NARROW_LIST;
    const room = this.box.clientWidth - (this.isNarrow ? 12 : COLUMNS_WIDTH);
    this.tops.length = first + 1;
    for (let i = first; i < this.places.length; i++) {
      const place = this.places[i];
      const indent = this.isNarrow ? 0 : this.width(run.node(place), 1) + this.width("\u00a0", 0);
      const lines = this.lines(run.says(place), room, run.ranks[place] === KEY_EVENT ? 1 : 0, indent) + Number(this.isNarrow);
      this.tops[i + 1] = this.tops[i] + lines * this.line + ROW_PADDING;
    }
  }

  width(word, font) {
    const key = `${font}${word}`;
    if (!this.widths.has(key)) {
      this.pen.font = this.fonts[font];
      this.widths.set(key, this.pen.measureText(word).width);
    }
    return this.widths.get(key);
  }

  /** Return how many lines a text takes whose first line begins after an indent. Words that are longer than a line are broken, as the style sheet does. */
  lines(text, room, font, indent) {
    const space = this.width("\u00a0", font);
    let lines = 1;
    let used = indent;
    for (const word of text.split(" ")) {
      const width = this.width(word, font);
      if (used > 0 && used + space + width > room - 1) {
        lines += 1;
        used = 0;
      }
      used += (used > indent || lines > 1 ? space : 0) + width;
      if (used > room) {
        lines += Math.floor(used / (room - 8));
        used %= room - 8;
      }
    }
    return lines;
  }

  draw() {
    const { scrollTop, clientHeight } = this.box;
    const first = Math.max(lastNotAbove(this.tops, scrollTop) - 4, 0);
    const end = Math.min(lastNotAbove(this.tops, scrollTop + clientHeight) + 5, this.places.length);
    const rows = [];
    for (let i = first; i < end; i++) rows.push(this.row(i));
    this.rows.replaceChildren(...rows);
    if (this.correct(rows, first)) return this.draw();
    const isListed = this.places[this.nowListed] === this.now && first <= this.nowListed && this.nowListed < end;
    if (isListed) this.box.setAttribute("aria-activedescendant", `row-${this.nowListed}`);
    else this.box.removeAttribute("aria-activedescendant");
    return undefined;
  }

  /** Make room for rows that need more than was computed: browsers also break words at signs. Return whether there were any. */
  correct(rows, first) {
    const lacking = rows.map((row, k) => Math.max(row.scrollHeight - Math.round(this.tops[first + k + 1] - this.tops[first + k]), 0));
    if (!lacking.some((height) => height > 1)) return false;
    let shift = 0;
    for (let i = first + 1; i < this.tops.length; i++) {
      shift += lacking[i - first - 1] ?? 0;
      this.tops[i] += shift;
    }
    this.rows.style.height = `${this.tops.at(-1)}px`;
    return true;
  }

  row(i) {
    const { run } = this;
    const place = this.places[i];
    const isNow = place === this.now;
    const sign = run.ranks[place] === KEY_EVENT ? SIGNS[signOf(run, place)][0] : "";
    const node = element("span", { class: "node" }, run.node(place));
    const says = element("span", { class: "says" }, run.says(place));
    const made = element(
      "div",
      {
        role: "option", id: `row-${i}`, class: `row rank-${run.ranks[place]}`, "aria-selected": String(isNow),
        "aria-posinset": i + 1, "aria-setsize": this.places.length, onclick: () => this.go(place),
      },
      element("span", { class: "when" }, seconds(run.times[place]).replace(/ s$/, "")),
      element("span", { class: "sign", "aria-hidden": "true" }, sign),
      ...(this.isNarrow ? [node, says] : [element("span", { class: "text" }, node, " ", says)]),
    );
    made.style.top = `${this.tops[i]}px`;
    made.style.height = `${this.tops[i + 1] - this.tops[i]}px`;
    made.style.lineHeight = `${this.line}px`;
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
    const [top, bottom] = [this.tops[Math.max(this.nowListed, 0)], this.tops[Math.max(this.nowListed, 0) + 1] ?? 0];
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop || bottom > scrollTop + clientHeight) this.box.scrollTop = Math.max(top - clientHeight / 2, 0);
  }

  /** Return the event of the row before (-1) or after (+1) the current event; null if there is none. */
  step(by) {
    const at = this.nowListed;
    const isOnRow = this.places[at] === this.now;
    return this.places[by > 0 ? at + 1 : isOnRow ? at - 1 : at] ?? null;
  }
}
