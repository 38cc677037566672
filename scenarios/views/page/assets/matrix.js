"use strict";
// Many partitions at a point in time, each as a cell on a canvas: its colour is that of its leader, as in the lanes; a line
// through it means that it is under-replicated, a cross that it has no working leader. The table below says the same in words.

const MOST_WITHOUT_MATRIX = 48;
const LARGEST_CELL = 14;
const SMALLEST_CELL = 5;
const MATRIX_HEIGHT = 260; // in pixels, if the cells are not at their smallest

class PartitionMatrix {
  /** `choose` is called with the name of a partition that was clicked. */
  constructor(histories, choose) {
    this.histories = histories;
    this.canvas = element("canvas", { class: "matrix", role: "img" });
    this.hint = element("p", { class: "muted matrix-hint", "aria-hidden": "true" }, HOW_TO_READ);
    this.names = [];
    this.drawn = []; // what each cell shows: a text that changes when the cell does
    this.canvas.addEventListener("pointermove", (event) => this.point(this.nameAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("click", (event) => {
      const name = this.nameAt(event);
      if (name !== null) choose(name);
    });
  }

  /** Return the elements to be shown. */
  get elements() {
    return [this.canvas, this.hint];
  }

  /** Draw what has changed. Args: partitions: a Map from name to value; width: that is there for it, in pixels. */
  draw(partitions, place, width) {
    const { canvas, histories } = this;
    this.partitions = partitions;
    this.names = histories.namesOf("partition").filter((name) => partitions.has(name));
    const halted = haltedLeaders(histories, place);
    this.fit(width);
    const pen = canvas.getContext("2d");
    const counts = { unled: 0, under: 0 };
    for (const [i, name] of this.names.entries()) {
      const [, leader, , , flags] = partitions.get(name);
      const isUnled = flags.includes("o") || halted(leader) !== null;
      const isUnder = flags.includes("u");
      if (isUnled) counts.unled++;
      else if (isUnder) counts.under++;
      const shows = isUnled ? "x" : `${leader}${isUnder ? "/" : ""}`;
      if (this.drawn[i] === shows) continue;
      this.drawn[i] = shows;
      this.drawCell(pen, i, leader, isUnled, isUnder);
    }
    canvas.setAttribute(
      "aria-label",
      `${plural(this.names.length, "partition")}: ${counts.unled} without a working leader, ${counts.under} only under-replicated, `
      + `${this.names.length - counts.unled - counts.under} as they should be. The table below lists those in trouble first.`,
    );
  }

  /** Make the cells as large as they can be. If the size or the theme has changed, all are drawn anew. */
  fit(width) {
    const { canvas, names } = this;
    const style = getComputedStyle(canvas);
    const most = Math.floor(Math.sqrt((width * MATRIX_HEIGHT) / Math.max(names.length, 1)));
    const cell = Math.min(Math.max(most, SMALLEST_CELL), LARGEST_CELL);
    const columns = Math.max(Math.floor(width / cell), 1);
    const key = [width, cell, names.length, style.getPropertyValue("--leader"), style.getPropertyValue("--panel"), window.devicePixelRatio].join(" ");
    if (key === this.key) return;
    Object.assign(this, { key, cell, columns, drawn: [] });
    this.colours = Object.fromEntries(["leader", "panel", "offline", "ink"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const height = Math.ceil(names.length / columns) * cell;
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.getContext("2d").setTransform(density, 0, 0, density, 0, 0);
  }

  drawCell(pen, i, leader, isUnled, isUnder) {
    const { cell, columns, colours } = this;
    const [x, y, size] = [(i % columns) * cell, Math.floor(i / columns) * cell, cell - 1];
    pen.fillStyle = isUnled ? colours.panel : `hsl(${hueOf(leader)} ${colours.leader})`;
    pen.fillRect(x, y, size, size);
    if (!isUnled && !isUnder) return;
    pen.strokeStyle = isUnled ? colours.offline : colours.ink;
    pen.lineWidth = isUnled ? 1.5 : 1;
    pen.beginPath();
    pen.moveTo(x, y + size);
    pen.lineTo(x + size, y);
    if (isUnled) {
      pen.moveTo(x, y);
      pen.lineTo(x + size, y + size);
    }
    pen.stroke();
  }

  nameAt({ offsetX, offsetY }) {
    const column = Math.floor(offsetX / this.cell);
    return column < this.columns ? this.names[Math.floor(offsetY / this.cell) * this.columns + column] ?? null : null;
  }

  /** Say in words what a cell shows. */
  point(name) {
    const value = this.partitions?.get(name);
    if (name === null || !value) {
      this.hint.textContent = HOW_TO_READ;
      return;
    }
    const [replicas, leader, epoch, isr, flags] = value;
    this.hint.textContent = `${name}: ${leader < 0 ? "no leader" : `leader ${leader}`}, epoch ${epoch ?? "none"}, ISR ${isr.join(", ") || "empty"} of ${replicas.join(", ")}${flags.includes("o") ? "; offline" : ""}`;
  }
}

const HOW_TO_READ = "A cell is a partition, its colour is that of its leader; ╱ under-replicated, ╳ without a working leader. Point at one to read it.";
