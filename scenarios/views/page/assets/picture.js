"use strict";
// Draws the lanes on a canvas, and finds the event at a point of it. The page shows the same facts as text beside it.

const MARGIN = 10;
const NARROW = 600;

class Picture {
  /** Draw on `canvas`; the axis has a canvas of its own, which does not scroll away. */
  constructor(run, histories, scale, canvas, axis) {
    Object.assign(this, { run, histories, scale, canvas, axis });
    this.arrows = null; // messages between lanes: pairs of events, if they are shown
    this.trouble = new TroubleCounts(histories);
    this.forget();
    this.grow();
  }

  /** Forget what was read of the run: events were left out of it, or it is another one. */
  forget() {
    this.marks = new Map();
    this.marksUntil = 0;
    this.trouble.forget();
  }

  /** Take what was appended to the run. */
  grow() {
    const { run, histories } = this;
    this.controllers = new Controllers(run, histories);
    this.lanes = lanesOf(run, histories, this.controllers);
    addMarks(this.marks, run, this.marksUntil);
    this.marksUntil = run.length;
    this.trouble.follow(this.lanes);
    this.counts = new Map();
    if (this.arrows !== null) this.arrows = arrowsOf(run);
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
    if (canvas.width === Math.round(width * density) && canvas.height === Math.round(height * density)) return;
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
    this.drawArrows();
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
   * Yield the visible parts of a history, [value, first, end, more). Parts that would be narrower than a pixel are merged; the
   * merged part has the value with the largest `weight`.
   */
  *visible(parts, weight) {
    let held = null;
    const right = this.labels + this.plot;
    for (const [value, first, end, more = null] of parts) {
      if (this.end(end) <= this.labels && this.scale.shown(end) < 0) continue;
      if (held && this.end(end) - this.x(held[1]) < 1) {
        if (weight(value, more) > weight(held[0], held[3])) [held[0], held[3]] = [value, more];
        held[2] = end;
        continue;
      }
      if (held) yield held;
      held = [value, first, end, more];
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
        this.caption([`frozen ${this.run.lasting(first, end)}`, "frozen"], left, y, width, bar);
      }
      if (state === "dead" || state === "stopped") {
        const left = this.x(first);
        this.pen.fillStyle = this.colour("muted");
        for (let x = left; x < this.end(end); x += 6) this.pen.fillRect(x, y + bar / 2, 2, 1.5);
        const words = name.startsWith("producer-") ? ["done"] : [`${state} ${this.run.lasting(first, end)}`, state];
        this.caption(words, left + 8, y, this.end(end) - left - 8, bar);
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
    if (name.startsWith(BROKER)) this.drawTerms(lane, bar);
  }

  mark(x, y) {
    this.pen.fillStyle = this.colour("offline");
    this.pen.fillRect(x, y, 3, 3);
  }

  /** Draw where a broker is or thinks it is the controller: solid while it works as the controller, else hatched. */
  drawTerms({ name, y }, bar) {
    const { pen } = this;
    const inset = bar > 12 ? 3 : 1;
    for (const { captions, isWorking, isInOffice, first, end } of terms(this.histories, this.controllers, name, this.run.length)) {
      const ink = this.colour(isInOffice ? "offline" : "controller");
      const hatch = isWorking ? null : ["/", ink];
      const [left, width] = this.bar(first, end, y + inset, bar - 2 * inset, this.colour(isWorking ? "controller" : "panel"), hatch);
      pen.strokeStyle = isWorking ? this.colour("controller") : ink;
      pen.strokeRect(left + 0.5, y + inset + 0.5, Math.max(width - 1, 0), bar - 2 * inset - 1);
      const timed = isWorking ? captions : captions.map((words) => `${words} ${this.run.lasting(first, end)}`).concat(captions);
      this.caption(timed, left + 10, y, width - 10, bar, isWorking);
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
    const parts = partitionParts(this.histories, name, this.run.length);
    const weight = (value, halted) => (value?.[4].length ?? 0) + (halted ? 2 : 0);
    for (const [value, first, end, halted] of this.visible(parts, weight)) {
      if (value === null) continue;
      const [, leader, , , flags] = value;
      const isUnled = flags.includes("o") || halted !== null;
      const hatch = isUnled ? ["x", this.colour("offline")] : flags.includes("u") ? ["/", this.colour("under")] : null;
      const [left, width] = this.bar(first, end, y, height, isUnled ? this.colour("panel") : this.ofBroker(leader), hatch);
      this.pen.fillStyle = this.colour("background");
      this.pen.fillRect(left, y, 1, height);
      const words = leaderWords(value, halted);
      const timed = isUnled ? words.slice(-2).map((text) => `${text} ${this.run.lasting(first, end)}`) : words;
      this.caption([...timed, words.at(-1)], left + 2, y, width - 2, height);
    }
  }

  /** Return the colour of a broker as a leader: the same in each strip. */
  ofBroker(broker) {
    return `hsl(${hueOf(broker)} ${this.colour("leader")})`;
  }

  /** Draw which broker works as the controller, and for how long no broker does. */
  drawController({ y, height }) {
    for (const { broker, epoch, first, end } of this.controllers.intervals) {
      if (broker === null) {
        const [left, width] = this.bar(first, end, y + 1, height - 2, this.colour("panel"), ["x", this.colour("offline")]);
        const lasts = this.run.lasting(first, end);
        this.caption([`${this.controllers.absence} ${lasts}`, `no controller ${lasts}`, `none ${lasts}`, lasts], left, y, width, height);
        continue;
      }
      const [left, width] = this.bar(first, end, y + 1, height - 2, this.colour("controller"));
      this.caption([`★ ${BROKER}${broker}, epoch ${epoch}`, `★ ${broker}`], left + 2, y, width - 2, height, true);
    }
  }

  /** Draw messages between lanes: an arrow from each cause to its effect on another node. */
  drawArrows() {
    const { pen } = this;
    if (this.arrows === null) return;
    const middle = new Map(this.lanes.filter((lane) => lane.type === "process" || lane.type === "marks").map((lane) => [lane.name, lane.y + lane.height / 2]));
    pen.strokeStyle = pen.fillStyle = this.colour("ink");
    pen.globalAlpha = 0.55;
    for (const [cause, effect] of this.arrows) {
      const [from, to] = [middle.get(this.run.node(cause)), middle.get(this.run.node(effect))];
      const isVisible = this.scale.shown(effect) >= 0 && this.scale.shown(cause) <= 1;
      if (from === undefined || to === undefined || !isVisible) continue;
      const [x1, x2] = [this.x(cause), this.x(effect)];
      pen.beginPath();
      pen.moveTo(x1, from);
      pen.lineTo(x2, to);
      pen.stroke();
      const angle = Math.atan2(to - from, x2 - x1);
      pen.beginPath();
      pen.moveTo(x2, to);
      for (const turn of [2.7, -2.7]) pen.lineTo(x2 + 7 * Math.cos(angle + turn), to + 7 * Math.sin(angle + turn));
      pen.fill();
    }
    pen.globalAlpha = 1;
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
      const lasts = this.run.lasting(first, end);
      this.caption([`not consumed ${lasts}: ${missing.join(", ")}`, `${missing.length} not consumed ${lasts}`, lasts], left + 2, y + half, width - 2, half);
    }
  }

  drawTopic(lane) {
    this.drawCounts(lane, (_, __, length) => this.trouble.partsOf(lane.name, length), ["without leader", "under-replicated"], [["x", this.colour("offline")], ["/", this.colour("under")]]);
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
      if (text) this.caption([`${text} ${this.run.lasting(first, end)}`, text], left + 2, y + (height - 14) / 2, width - 2, 14);
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
    const borders = [0, ...this.run.stretches.flat(), this.run.length];
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
    if (this.scale.mode === "time") this.drawTimes(pen);
    else this.drawTimesOfEvents(pen);
  }

  /** Draw round times at equal distances. */
  drawTimes(pen) {
    const { scale } = this;
    const [begin, whole] = [scale.clock[0], scale.whole];
    const shown = whole * (scale.to - scale.from);
    if (shown <= 0) return;
    const least = (shown * 96) / this.plot; // a label for each 96 pixels at most
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((times) => times * power).find((size) => size >= least), 1);
    const first = Math.ceil((begin + whole * scale.from) / step) * step;
    for (let t_ms = first; t_ms <= begin + whole * scale.to; t_ms += step) {
      this.tick(pen, this.labels + ((t_ms - begin - whole * scale.from) / shown) * this.plot, seconds(t_ms));
    }
  }

  /** Draw the times of the events at equal distances: for axes that are not true to time. */
  drawTimesOfEvents(pen) {
    let free = this.labels;
    let last = null;
    for (let x = this.labels; x <= this.labels + this.plot; x += 4) {
      const label = seconds(this.run.times[this.scale.placeAt((x - this.labels) / this.plot)]);
      const width = pen.measureText(label).width;
      if (x < free || label === last || x + width > this.width) continue;
      this.tick(pen, x, label);
      free = x + width + 24;
      last = label;
    }
  }

  tick(pen, x, label) {
    if (x + pen.measureText(label).width > this.width) return;
    pen.fillStyle = this.colour("line");
    pen.fillRect(x, 12, 1, 6);
    pen.fillStyle = this.colour("muted");
    pen.fillText(label, x + 3, 8);
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
