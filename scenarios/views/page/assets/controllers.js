"use strict";
// Which broker worked as the controller, and when none did. The intervals are computed with the page (docs/glossary.md,
// "working controller"); before the first of them no broker had been the controller. A log without the steps of failovers, such
// as an import of ZooKeeper's, only has the znode /controller: then the broker that it names counts as the controller.

class Controllers {
  constructor(run, histories) {
    const { story } = run.about;
    this.isKnown = story.has_failovers;
    this.intervals = this.isKnown
      ? story.controllers.map(([broker, epoch, from, until, isOver]) => ({
        broker, epoch, first: run.placeFrom(from), end: isOver ? run.placeFrom(until) : run.length,
      }))
      : [...histories.parts("controller", "", run.length)].map(([broker, first, end]) => ({
        broker, epoch: broker === null ? null : histories.at(end - 1, "epoch"), first, end,
      }));
    this.firsts = this.intervals.map((interval) => interval.first);
  }

  /** Return the interval of an event: {broker, epoch, first, end}; null before the first working controller. */
  at(place) {
    const found = lastNotAbove(this.firsts, place);
    return found < 0 ? null : this.intervals[found];
  }

  /** Return the words for an interval without a controller. */
  get absence() {
    return this.isKnown ? "no working controller" : "no controller";
  }

  /** Return whether a broker is the working controller at an event. */
  isWorking(broker, place) {
    return this.at(place)?.broker === broker;
  }
}
