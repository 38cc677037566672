"use strict";
// Draws the lanes on a canvas, and finds the event at a point of it. The page shows the same facts as text beside it.

const MARGIN = 10;
const NARROW = 600;

class Picture {
  /** Draw on `canvas`; the axis has a canvas of its own, which does not scroll away. */
  constructor(run, histories, scale, canvas, axis) {
    Object.assign(this, { run, histories, scale, canvas, axis });
    this.lanes = lanesOf(run, histories);
    this.marks = marksOf(run);
    this.counts = new Map();
  }

  /** Fit the picture to the available width. */
  resize() {
    const width = this.canvas.parentElement.clientWidth;
    const processes = this.lanes.filter((lane) => lane.type !== "partition").length;
    const height = processes > 60 ? 12 : processes > 24 ? 15 : 22;
    const strip = this.lanes.length - processes > 24 ? 12 : 16;
    this.labels = width < NARROW ? 78 : 150;
    this.width = width;
    let y = 2;
    for (const lane of this.lanes) {
      lane.y = y;
      lane.height = { partition: strip, topic: 22, rack: 20, controller: 18, group: 32, marks: Math.max(height, 16) }[lane.type] ?? height;
      y += lane.height + 2;
    }
    this.height = y;
    this.fit(this.canvas, width, y);
    this.fit(this.axis, width, 18);
    this.draw();
  }

  fit(canvas, width, height) {
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.getContext("2d").setTransform(density, 0, 0, density, 0, 0);
  }

  get plot() {
    return this.width - this.labels - MARGIN;
  }

  /** Return the position of an event, in pixels; events that are not shown are at the edge. */
  x(place) {
    return this.labels + Math.min(Math.max(this.scale.shown(place), 0), 1) * this.plot;
  }

  end(place) {
    return place >= this.run.length ? this.x(this.run.length - 1) : this.x(place);
  }

  draw() {
    const style = getComputedStyle(document.documentElement);
    const colours = new Map();
    this.colour = (name) => {
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(`--${name}`).trim());
      return colours.get(name);
    };
    this.pen = this.canvas.getContext("2d");
    this.patterns = new Map();
    this.pen.clearRect(0, 0, this.width, this.height);
    this.pen.textBaseline = "middle";
    for (const lane of this.lanes) {
      this.drawLabel(lane);
      if (lane.type === "process") this.drawProcess(lane);
      else if (lane.type === "partition") this.drawPartition(lane);
      else if (lane.type === "topic") this.drawTopic(lane);
      else if (lane.type === "group") this.drawGroup(lane);
      else if (lane.type === "rack") this.drawRack(lane);
      else if (lane.type === "controller") this.drawController(lane);
      if (lane.type === "process" || lane.type === "marks") this.drawMarks(lane);
    }
    this.drawUnknown();
    this.drawAxis();
  }

  drawLabel(lane) {
    const { pen } = this;
    const middle = lane.y + lane.height / 2;
    pen.fillStyle = this.colour("line");
    pen.fillRect(this.labels, lane.y + lane.height, this.plot, 0.5);
    pen.font = `${Math.min(12, lane.height)}px ${this.colour("font")}`;
    pen.fillStyle = this.colour("ink");
    const isNarrow = this.labels < 100;
    const label = isNarrow ? lane.label.replace(/^broker-/, "b-").replace(/^(consumer|producer)-/, "") : lane.label;
    this.text(label, 4, middle, this.labels - 8);
    if (lane.note && !isNarrow) {
      const used = pen.measureText(label).width + 12;
      pen.fillStyle = this.colour("muted");
      pen.font = `${Math.min(10, lane.height)}px ${this.colour("font")}`;
      this.text(lane.note, used, middle, this.labels - used - 4);
    }
  }

  /** Draw text that is cut to fit; nothing if there is room for very little only. */
  text(text, x, y, room) {
    const { pen } = this;
    let shown = String(text);
    if (pen.measureText(shown).width > room) {
      const size = pen.measureText(shown).width / shown.length;
      shown = `${shown.slice(0, Math.max(Math.floor(room / size) - 1, 0))}…`;
      if (shown.length < 4) return;
    }
    pen.fillText(shown, x, y);
  }

  /**
   * Yield the visible parts of a history, [value, first, end). Parts that would be narrower than a pixel are merged; the
   * merged part has the value with the largest `weight`.
   */
  *visible(parts, weight) {
    let held = null;
    const right = this.labels + this.plot;
    for (const [value, first, end] of parts) {
      if (this.end(end) <= this.labels && this.scale.shown(end) < 0) continue;
      if (held && this.end(end) - this.x(held[1]) < 1) {
        if (weight(value) > weight(held[0])) held[0] = value;
        held[2] = end;
        continue;
      }
      if (held) yield held;
      held = [value, first, end];
      if (this.x(first) >= right) break;
    }
    if (held) yield held;
  }

  /** Draw a bar between two events: filled, and hatched if `hatch` is given. */
  bar(first, end, y, height, colour, hatch = null) {
    const left = this.x(first);
    const width = Math.max(this.end(end) - left, 1);
    this.pen.fillStyle = colour;
    this.pen.fillRect(left, y, width, height);
    if (hatch) {
      this.pen.fillStyle = this.pattern(hatch);
      this.pen.fillRect(left, y, width, height);
    }
    return [left, width];
  }

  /** Return a pattern of slanted lines in a colour: `/` or `x` (crossed). */
  pattern([kind, colour]) {
    const key = `${kind} ${colour}`;
    if (!this.patterns.has(key)) this.patterns.set(key, this.hatched(kind, colour));
    return this.patterns.get(key);
  }

  hatched(kind, colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1.4;
    for (const offset of [-6, 0, 6]) {
      pen.moveTo(offset, 6);
      pen.lineTo(offset + 6, 0);
      if (kind === "x") {
        pen.moveTo(offset, 0);
        pen.lineTo(offset + 6, 6);
      }
    }
    pen.stroke();
    return this.pen.createPattern(tile, "repeat");
  }

  drawProcess(lane) {
    const { y, height, name } = lane;
    const bar = Math.max(height - 4, 6);
    for (const [state, first, end] of this.histories.parts("process", name, this.run.length)) {
      if (state === "running") this.bar(first, end, y, bar, this.colour("up"));
      if (state === "paused") {
        const [left, width] = this.bar(first, end, y, bar, this.colour("paused"), ["/", this.colour("paused-ink")]);
        this.caption("frozen", left, y, width, bar);
      }
      if (state === "dead" || state === "stopped") {
        const left = this.x(first);
        this.pen.fillStyle = this.colour("muted");
        for (let x = left; x < this.end(end); x += 6) this.pen.fillRect(x, y + bar / 2, 2, 1.5);
        this.caption(state, left + 8, y, this.end(end) - left - 8, bar);
      }
    }
    for (const [value, first, end] of this.histories.parts("registered", name, this.run.length)) {
      if (value !== null) this.bar(first, end, y + bar + 1, 2, this.colour("registered"));
    }
    for (const [value, first, end] of this.histories.parts("link", name, this.run.length)) {
      const isAlive = ["running", "paused"].includes(this.histories.at(first, "process", name));
      if (isAlive && isInDoubt(value)) for (let x = this.x(first); x < this.end(end); x += 5) this.mark(x, y + bar);
    }
    for (const [value, first, end] of this.histories.parts("owned", name, this.run.length)) {
      const words = value?.[0].length ? [`consumes ${value[0].join(", ")}`, `consumes ${value[0].length}`] : null;
      if (words) this.caption(words, this.x(first) + 10, y, this.end(end) - this.x(first) - 10, bar);
    }
    if (name.startsWith(BROKER)) this.drawReigns(lane, bar);
  }

  mark(x, y) {
    this.pen.fillStyle = this.colour("offline");
    this.pen.fillRect(x, y, 3, 3);
  }

  drawReigns({ name, y }, bar) {
    const { pen } = this;
    const inset = bar > 12 ? 3 : 1;
    for (const { captions, isInOffice, isFrozen, first, end } of reigns(this.histories, name, this.run.length)) {
      const hatch = isFrozen ? ["/", this.colour("paused-ink")] : isInOffice ? null : ["/", this.colour("controller")];
      const [left, width] = this.bar(first, end, y + inset, bar - 2 * inset, this.colour(isInOffice ? "controller" : "panel"), hatch);
      pen.strokeStyle = this.colour("controller");
      pen.strokeRect(left + 0.5, y + inset + 0.5, Math.max(width - 1, 0), bar - 2 * inset - 1);
      this.caption(captions, left + 18, y, width - 18, bar, isInOffice && !isFrozen);
    }
  }

  /** Draw a text in a bar, if there is room: the first of several wordings that fits, or the last one cut short. */
  caption(wordings, left, y, room, height, isOnFull = false) {
    const { pen } = this;
    if (room < 24 || height < 8) return;
    pen.font = `${Math.min(11, height)}px ${this.colour("font")}`;
    const words = [wordings].flat().find((each, i, all) => i === all.length - 1 || pen.measureText(each).width < room - 6);
    const width = Math.min(pen.measureText(words).width, room - 6);
    if (width < pen.measureText(words).width && room < 40) return;
    if (!isOnFull) {
      pen.fillStyle = this.colour("caption");
      pen.fillRect(left + 1, y + 1, width + 5, height - 2);
    }
    pen.fillStyle = this.colour(isOnFull ? "on-controller" : "ink");
    this.text(words, left + 4, y + height / 2 + 0.5, room - 6);
  }

  drawPartition({ name, y, height }) {
    const parts = this.histories.parts("partition", name, this.run.length);
    for (const [value, first, end] of this.visible(parts, (value) => value?.[4].length ?? 0)) {
      if (value === null) continue;
      const [, leader, , , flags] = value;
      const isOffline = flags.includes("o");
      const hatch = isOffline ? ["x", this.colour("offline")] : flags.includes("u") ? ["/", this.colour("under")] : null;
      const [left, width] = this.bar(first, end, y, height, isOffline ? this.colour("panel") : this.ofBroker(leader), hatch);
      this.pen.fillStyle = this.colour("background");
      this.pen.fillRect(left, y, 1, height);
      this.caption(leaderWords(value), left + 2, y, width - 2, height);
    }
  }

  /** Return the colour of a broker as a leader: the same in each strip. */
  ofBroker(broker) {
    const hue = Math.round((broker * 137.508) % 360);
    return `hsl(${hue} ${this.colour("leader")})`;
  }

  /** Draw the lane that shows which broker is the controller: among many brokers its own lane is hard to find. */
  drawController({ y, height }) {
    for (const [controller, first, end] of this.histories.parts("controller", "", this.run.length)) {
      if (controller === null) {
        const [left, width] = this.bar(first, end, y + 2, height - 4, this.colour("panel"), ["x", this.colour("offline")]);
        this.caption("no controller", left, y, width, height);
        continue;
      }
      const [left, width] = this.bar(first, end, y + 1, height - 2, this.colour("controller"));
      this.caption(`★ ${BROKER}${controller}`, left + 6, y, width - 6, height, true);
    }
  }

  /** Draw a group's lane. Above: whether the group is stable, and its generation. Below: partitions without a consumer. */
  drawGroup({ name, of, y, height }) {
    const half = height / 2;
    for (const [[state, generation], first, end] of this.histories.parts("group", name, this.run.length)) {
      const isStable = state === "Stable";
      const hatch = isStable ? null : ["/", this.colour("paused-ink")];
      const [left, width] = this.bar(first, end, y, half, this.colour(isStable ? "up" : "paused"), hatch);
      this.caption([`${state}, generation ${generation}`, state], left + 2, y, width - 2, half);
    }
    for (const [missing, first, end] of unconsumed(this.histories, of, this.run.length)) {
      const [left, width] = this.bar(first, end, y + half, half, this.colour("panel"), ["x", this.colour("offline")]);
      this.caption([`not consumed: ${missing.join(", ")}`, `${missing.length} not consumed`], left + 2, y + half, width - 2, half);
    }
  }

  drawTopic(lane) {
    this.drawCounts(lane, troubleOf, ["offline", "under-replicated"], [["x", this.colour("offline")], ["/", this.colour("under")]]);
  }

  drawRack(lane) {
    this.drawCounts(lane, downOf, ["down", "frozen"], [["x", this.colour("offline")], ["/", this.colour("paused-ink")]]);
  }

  /** Draw how many of a lane's entities have either of two problems: the worse one from above, the other one from below. */
  drawCounts(lane, count, words, hatches) {
    const { y, height } = lane;
    if (!this.counts.has(lane)) this.counts.set(lane, [...count(this.histories, lane.of, this.run.length)]);
    for (const [[worse, bad, all], first, end] of this.visible(this.counts.get(lane), ([worse, bad]) => worse * 1e6 + bad)) {
      if (!all) continue;
      const high = (number) => (number ? Math.max((number / lane.of.length) * height, 3) : 0);
      const [left, width] = this.bar(first, end, y, height, this.colour("up"));
      const [top, bottom] = [high(worse), high(bad)];
      if (bottom) this.bar(first, end, y + height - bottom, bottom, this.colour("panel"), hatches[1]);
      if (top) this.bar(first, end, y, top, this.colour("panel"), hatches[0]);
      const text = [worse && `${worse} ${words[0]}`, bad && `${bad} ${words[1]}`].filter(Boolean).join(", ");
      if (text) this.caption(text, left + 2, y + (height - 14) / 2, width - 2, 14);
    }
  }

  drawMarks(lane) {
    const { pen } = this;
    const size = Math.min(15, lane.height);
    pen.font = `${size}px ${this.colour("font")}`;
    pen.textAlign = "center";
    pen.lineWidth = 3;
    pen.strokeStyle = this.colour("background");
    const drawn = new Map();
    for (const place of this.marks.get(lane.name) ?? []) {
      const at = this.scale.shown(place);
      if (at < 0 || at > 1) continue;
      const sign = signOf(this.run, place);
      const [x, y] = [this.x(place), lane.y + lane.height / 2];
      if (x - (drawn.get(sign) ?? -9) < 2) continue; // the two signs overlap: only one is drawn
      drawn.set(sign, x);
      pen.strokeText(SIGNS[sign][0], x, y);
      pen.fillStyle = this.colour(`sign-${sign}`) || this.colour("ink");
      pen.fillText(SIGNS[sign][0], x, y);
    }
    pen.textAlign = "left";
    pen.lineWidth = 1;
  }

  /** Draw the parts where the partitions' state is unknown, because the events there are not in the page. */
  drawUnknown() {
    const strips = this.lanes.filter((lane) => lane.type === "partition" || lane.type === "topic");
    if (!strips.length) return;
    const borders = [0, ...this.run.about.stretches.flat(), this.run.length];
    for (let i = 0; i < borders.length; i += 2) {
      if (borders[i] >= borders[i + 1]) continue;
      const height = strips.at(-1).y + strips.at(-1).height - strips[0].y;
      const [left, width] = this.bar(borders[i], borders[i + 1], strips[0].y, height, this.colour("background"));
      this.caption("not kept in this page", left, strips[0].y, width, 14);
    }
  }

  drawAxis() {
    const pen = this.axis.getContext("2d");
    pen.clearRect(0, 0, this.width, 18);
    pen.font = `11px ${this.colour("font")}`;
    pen.textBaseline = "middle";
    let free = this.labels;
    let last = null;
    for (let x = this.labels; x <= this.labels + this.plot; x += 4) {
      const label = seconds(this.run.times[this.scale.placeAt((x - this.labels) / this.plot)]);
      const width = pen.measureText(label).width;
      if (x < free || label === last || x + width > this.width) continue;
      pen.fillStyle = this.colour("line");
      pen.fillRect(x, 12, 1, 6);
      pen.fillStyle = this.colour("muted");
      pen.fillText(label, x + 3, 8);
      free = x + width + 24;
      last = label;
    }
  }

  // --- hit testing

  laneAt(y) {
    return this.lanes.find((lane) => lane.y <= y && y < lane.y + lane.height + 2) ?? null;
  }

  placeAt(x) {
    return this.scale.placeAt((x - this.labels) / this.plot);
  }

  /** Return the event that is marked near a point of a lane, or else the nearest event. */
  eventAt(x, y) {
    const lane = this.laneAt(y);
    const near = (this.marks.get(lane?.name) ?? []).filter((place) => Math.abs(this.x(place) - x) <= 8);
    if (!near.length) return this.placeAt(x);
    return near.reduce((best, place) => (Math.abs(this.x(place) - x) < Math.abs(this.x(best) - x) ? place : best));
  }
}
