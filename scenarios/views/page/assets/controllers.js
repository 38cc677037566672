"use strict";
// Which broker worked as the controller, and when none did. The intervals are computed with the page (docs/glossary.md,
// "working controller"); outside of them no broker had been the controller yet.

class Controllers {
  constructor(run) {
    this.intervals = run.about.story.controllers.map(([broker, epoch, from, until, isOver]) => ({
      broker, epoch, first: run.placeFrom(from), end: isOver ? run.placeFrom(until) : run.length,
    }));
    this.firsts = this.intervals.map((interval) => interval.first);
  }

  /** Return the interval of an event: {broker, epoch, first, end}; null before the first working controller. */
  at(place) {
    const found = lastNotAbove(this.firsts, place);
    return found < 0 ? null : this.intervals[found];
  }

  /** Return whether a broker is the working controller at an event. */
  isWorking(broker, place) {
    return this.at(place)?.broker === broker;
  }
}
