"use strict";
// The znode tree at a point in time. Znodes that the user has opened stay open when the time changes.

const MOST_CHILDREN = 200;
const SIGNS_OF_CHANGE = { created: "+", changed: "●" };

class Tree {
  constructor(panel, search, run, histories) {
    Object.assign(this, { panel, search, run, histories });
    this.open = new Set(["/", "/brokers", "/brokers/ids", "/controller", "/controller_epoch"]);
    this.place = 0;
    search.addEventListener("input", () => this.show(this.place));
  }

  show(place) {
    this.place = place;
    if (!this.run.isKnown(place)) {
      this.panel.replaceChildren(element("p", { class: "notice" }, outsideText(this.run, place)));
      return;
    }
    this.znodes = this.histories.allAt(place, "znode");
    this.changed = new Map();
    for (const { family, name, before } of this.histories.changesAt(place)) {
      if (family === "znode") this.changed.set(name, before === null ? "created" : "changed");
    }
    const wanted = this.search.value.trim();
    this.children = new Map();
    for (const path of this.znodes.keys()) if (path.includes(wanted)) this.hang(path);
    const count = element("p", { class: "muted" }, plural(this.znodes.size, "znode"));
    this.panel.replaceChildren(count, this.below("/", wanted !== ""));
  }

  /** Add a path to its parent, and the parent to its own parent, up to the root. */
  hang(path) {
    while (path !== "/") {
      const above = path.slice(0, path.lastIndexOf("/")) || "/";
      if (!this.children.has(above)) this.children.set(above, new Set());
      if (this.children.get(above).has(path)) return;
      this.children.get(above).add(path);
      path = above;
    }
  }

  below(path, isAllOpen) {
    const names = [...(this.children.get(path) ?? [])].sort(byName);
    const items = names.slice(0, MOST_CHILDREN).map((name) => this.item(name, isAllOpen));
    const left = names.length - MOST_CHILDREN;
    if (left > 0) items.push(element("li", { class: "muted" }, `… and ${plural(left, "more znode")}: search for one`));
    return element("ul", { class: "tree" }, items);
  }

  item(path, isAllOpen) {
    const znode = this.znodes.get(path);
    const change = this.changed.get(path);
    const below = this.children.get(path)?.size ?? 0;
    const isOpen = isAllOpen || this.open.has(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const summary = element(
      "summary",
      {},
      element("b", {}, name),
      below ? element("span", { class: "muted" }, ` ${below}`) : null,
      znode?.[4] ? element("span", { class: "tag" }, "ephemeral") : null,
      change ? element("span", { class: `tag ${change}` }, `${SIGNS_OF_CHANGE[change]} ${change}`) : null,
    );
    const details = element("details", { open: isOpen, "data-path": path }, summary);
    const fill = () => details.append(znode ? this.content(znode) : "", below ? this.below(path, isAllOpen && below < MOST_CHILDREN) : "");
    if (isOpen) fill();
    let isFilled = isOpen;
    details.addEventListener("toggle", () => {
      if (details.open) this.open.add(path);
      else this.open.delete(path);
      if (details.open && !isFilled) fill();
      isFilled = isFilled || details.open;
    });
    return element("li", { "data-znode": path }, details);
  }

  content([data, version, czxid, mzxid, isEphemeral, owner]) {
    const hex = (zxid) => `0x${zxid.toString(16)}`;
    const facts = [
      `version ${version}`,
      czxid ? `created at ${hex(czxid)}` : null, // 0: not in the trace
      mzxid !== czxid ? `set at ${hex(mzxid)}` : null,
      isEphemeral && owner ? `lives with session ${owner}` : null,
    ];
    const note = data === null ? "no data" : data === "" ? "empty" : null;
    return element(
      "div",
      { class: "znode" },
      note ? element("p", { class: "muted" }, note) : element("pre", {}, pretty(data)),
      element("p", { class: "muted" }, facts.filter(Boolean).join(", ")),
    );
  }
}
