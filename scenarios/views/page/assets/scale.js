"use strict";
// The horizontal position of events. A run has bursts of events between long waits: on an axis of time a burst is a single
// line, on an axis of events a wait is invisible. The default axis is true to time; another gives half of the width to each.

class Scale {
  constructor(run) {
    this.run = run;
    this.clock = [];
    this.until_ms = 0; // the axis goes on to this time, if the run does not
    this.grow();
    this.mode = "time";
    this.from = 0;
    this.to = 1;
  }

  /** Take the events that were appended to the run. */
  grow() {
    const { clock, run } = this;
    // Some imported events have a time before that of the event before.
    for (let i = clock.length; i < run.length; i++) clock.push(Math.max(run.times[i], clock[i - 1] ?? run.times[i]));
  }

  /** How much time there is on the axis, in ms. */
  get whole() {
    return Math.max(this.clock.at(-1), this.until_ms) - this.clock[0];
  }

  /** Return the position of an event in the whole run: 0 to 1. */
  part(place) {
    const { clock, whole } = this;
    const { length } = clock;
    const byEvents = length > 1 ? place / (length - 1) : 0;
    const byTime = whole > 0 ? (clock[place] - clock[0]) / whole : byEvents;
    if (this.mode === "both") return (byTime + byEvents) / 2;
    return this.mode === "time" ? byTime : byEvents;
  }

  /** Return the position of an event in the shown part: 0 is its left end, 1 its right end; outside, <0 or >1. */
  shown(place) {
    return (this.part(Math.min(place, this.run.length - 1)) - this.from) / (this.to - this.from);
  }

  /** Return the event nearest to a position in the shown part. */
  placeAt(point) {
    const wanted = this.from + point * (this.to - this.from);
    if (wanted >= 1) return this.run.length - 1; // the last one of those at the same time
    let low = 0;
    let high = this.run.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.part(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    const isBeforeNearer = low > 0 && wanted - this.part(low - 1) <= this.part(low) - wanted;
    return isBeforeNearer ? low - 1 : low;
  }

  /** Show `factor` times as much as now, around an event. */
  zoom(factor, place) {
    const width = Math.min(Math.max((this.to - this.from) * factor, 1e-5), 1);
    this.from = Math.min(Math.max(this.part(place) - width / 2, 0), 1 - width);
    this.to = this.from + width;
  }

  /** Move the shown part so that it contains an event. Return whether that was necessary. */
  reveal(place) {
    const part = this.part(place);
    const isHidden = part < this.from || part > this.to;
    if (isHidden) this.zoom(1, place);
    return isHidden;
  }

  /** The shown part of the axis, as times of the run: [from, to]; null if all of it is shown. */
  get times() {
    if (this.from === 0 && this.to === 1) return null;
    return [this.from, this.to].map((part) => this.clock[0] + part * this.whole);
  }

  /** Show the part between two times; all if there are none. */
  showTimes(times) {
    this.fit();
    if (times === null || this.whole <= 0) return;
    [this.from, this.to] = times.map((t_ms) => Math.min(Math.max((t_ms - this.clock[0]) / this.whole, 0), 1));
  }

  fit() {
    this.from = 0;
    this.to = 1;
  }
}
