"use strict";
// A play that was saved in the page: it answers as the server did, as far as no run has to go on for that.

class Saved {
  /** `take` is called with each message. */
  constructor(text, take) {
    this.take = take;
    document.body.classList.add("saved");
    unpacked(text).then((saved) => {
      this.saved = saved;
      this.show(saved.forks.now);
    });
  }

  show(number) {
    const { forks, futures } = this.saved;
    const { now_ms, acts, about, parts } = futures[number];
    const clock = { now_ms, speed: 1, paused: true, behind: false };
    const copy = structuredClone({ all: parts, about }); // a run expands its parts in place
    this.take({ ...copy, around: null, acts, clock, forks: { ...forks, now: number } });
    this.now = number;
  }

  send(wanted) {
    const { comparisons, futures } = this.saved;
    if (wanted.future !== undefined) this.show(wanted.future);
    const { scenario } = futures[this.now];
    if (wanted.save) this.take(scenario === null ? { problem: "There is no scenario of this cluster: it was not begun by kcsim, or in the state of another one." } : { scenario });
    if (wanted.compare !== undefined) {
      const compared = comparisons[`${wanted.compare} ${this.now}`];
      if (compared === undefined) this.take({ problem: "These two were not compared when the page was saved." });
      else this.take({ compared, ...structuredClone({ other: futures[wanted.compare].parts, other_about: futures[wanted.compare].about }) });
    }
  }
}
