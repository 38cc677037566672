"use strict";
// All partitions at a point in time: those that match a search, each with its leader, ISR and replicas.

const MOST_LISTED = 400;

class PartitionPanel {
  /** `filterEvents` is called with the name of a partition whose events the user wants to see. */
  constructor(panel, search, run, histories, filterEvents) {
    Object.assign(this, { panel, search, run, histories, filterEvents });
    this.matrix = new PartitionMatrix(histories, filterEvents);
    this.place = 0;
    search.addEventListener("input", () => this.show(this.place));
  }

  show(place) {
    this.place = place;
    if (!this.run.isKnown(place)) {
      this.panel.replaceChildren(element("p", { class: "notice" }, outsideText(this.run, place)));
      return;
    }
    const all = this.histories.allAt(place, "partition");
    const wanted = this.search.value.trim();
    const found = new Map([...all].filter(([name]) => name.includes(wanted)));
    const isNone = "At this moment there are no partitions.";
    const count = wanted ? `${found.size.toLocaleString("en")} of ${plural(all.size, "partition")}` : plural(all.size, "partition");
    this.panel.replaceChildren(
      element("p", { class: "muted" }, all.size ? `${count}; those in trouble come first. A name lists its events.` : isNone),
      ...(found.size > MOST_WITHOUT_MATRIX ? this.matrix.elements : []),
      found.size ? partitionTable(this.histories, place, found, MOST_LISTED, this.filterEvents) : "",
    );
    if (found.size > MOST_WITHOUT_MATRIX) this.matrix.draw(found, place, contentWidth(this.panel));
  }
}
