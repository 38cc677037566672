"use strict";
// The space-time diagram: a column for each node, time downwards, and an arrow from each event to its effect on another node.

const DIAGRAM_ROWS = 40;
const ROWS_BEFORE = 12;
const ROW_HEIGHT = 30;
const COLUMN_WIDTH = 96;
const TIMES_WIDTH = 64;
const SVG = "http://www.w3.org/2000/svg";
const MOST_ARROWS = 600;

/** Return the messages among some events: [cause, effect] for each event whose cause happened on another node. */
function messagesAmong(run, places) {
  const found = [];
  for (const place of places) {
    const cause = run.cause(place);
    if (cause !== null && run.node(cause) !== run.node(place)) found.push([cause, place]);
  }
  return found;
}

/** Return the messages for the arrows between lanes; of very many, those that lead to events of note. */
function arrowsOf(run) {
  const places = [...run.seqs.keys()];
  const all = messagesAmong(run, places);
  return all.length <= MOST_ARROWS ? all : all.filter(([, effect]) => run.ranks[effect] !== ORDINARY).slice(0, MOST_ARROWS);
}

class Diagram {
  constructor(panel, run, go) {
    Object.assign(this, { panel, run, go });
  }

  /** Show the ends of messages around an event, and the events of note among them. */
  show(place) {
    const { run } = this;
    const rows = this.rowsAround(place);
    const nodes = [...new Set(rows.map((row) => run.node(row)))].sort(byKindAndName);
    const width = TIMES_WIDTH + nodes.length * COLUMN_WIDTH;
    const height = (rows.length + 1) * ROW_HEIGHT + 10;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Messages between ${nodes.join(", ")}` });
    const x = (node) => TIMES_WIDTH + nodes.indexOf(node) * COLUMN_WIDTH + COLUMN_WIDTH / 2;
    const y = (i) => (i + 1.2) * ROW_HEIGHT;
    const at = new Map(rows.map((row, i) => [row, i]));
    picture.append(arrowHead());
    for (const node of nodes) {
      picture.append(svg("line", { x1: x(node), x2: x(node), y1: 20, y2: height, class: "lifeline" }));
      picture.append(svg("text", { x: x(node), y: 13, "text-anchor": "middle", class: "node" }, node));
    }
    let time = null;
    for (const [i, row] of rows.entries()) {
      if (run.times[row] !== time) picture.append(svg("text", { x: 2, y: y(i) + 4, class: "when" }, seconds(run.times[row])));
      time = run.times[row];
      const cause = run.cause(row);
      if (cause !== null && at.has(cause) && run.node(cause) !== run.node(row)) picture.append(this.arrow(x(run.node(cause)), y(at.get(cause)), x(run.node(row)), y(i)));
    }
    for (const [i, row] of rows.entries()) picture.append(this.event(row, x(run.node(row)), y(i), row === place));
    this.panel.replaceChildren(
      element("p", { class: "muted" }, "Time runs downwards. An arrow leads from an event to what it caused on another node. Point at a dot to read it, click it to go there."),
      element("div", { class: "scroll" }, picture),
    );
    this.panel.scrollTop = Math.max(y(at.get(place)) - this.panel.clientHeight / 3, 0);
  }

  /** Return the indices of the events in the diagram: the ends of messages around the current event, and itself. */
  rowsAround(place) {
    const { run } = this;
    const isRow = (at) => {
      const cause = run.cause(at);
      return (cause !== null && run.node(cause) !== run.node(at)) || run.followers(at).some((later) => run.node(later) !== run.node(at));
    };
    const before = [];
    for (let at = place - 1; at >= 0 && before.length < ROWS_BEFORE; at--) if (isRow(at)) before.push(at);
    const rows = [...before.reverse(), place];
    for (let at = place + 1; at < run.length && rows.length < DIAGRAM_ROWS; at++) if (isRow(at)) rows.push(at);
    return rows;
  }

  arrow(x1, y1, x2, y2) {
    const short = x2 > x1 ? -5 : 5;
    return svg("line", { x1, y1, x2: x2 + short, y2, class: "arrow", "marker-end": "url(#arrow-head)" });
  }

  event(place, x, y, isNow) {
    const { run } = this;
    const link = svg("a", { href: `#e=${run.seqs[place]}`, class: isNow ? "now" : null });
    const words = `#${run.seqs[place]} at ${seconds(run.times[place])}: ${run.node(place)} ${run.says(place)}`;
    link.append(svg("title", {}, words), svg("circle", { cx: x, cy: y, r: isNow ? 7 : 5 }), svg("text", { x: x + 9, y: y - 5 }, run.kind(place)));
    return link;
  }
}

/** Sort scenario and zookeeper first, then the other nodes by name. */
function byKindAndName(one, other) {
  const rank = (node) => ["scenario", "zookeeper"].indexOf(node) + 1 || 3;
  return rank(one) - rank(other) || byName(one, other);
}

function arrowHead() {
  const marker = svg("marker", { id: "arrow-head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" });
  marker.append(svg("path", { d: "M0 0 L8 4 L0 8 z" }));
  return marker;
}

/** Make an SVG element with attributes and a text. */
function svg(tag, attributes, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  if (text !== null) made.append(text);
  return made;
}
