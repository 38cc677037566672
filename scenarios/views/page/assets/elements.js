"use strict";
// Makes elements. Everything from a trace goes into a page as text, never as markup.

const byId = (id) => document.getElementById(id);

/** Make an element with attributes (a function is a listener: {onclick: …}) and children: elements or text values. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Make a link to the point in time of an event. */
const momentLink = (seq, ...children) => element("a", { href: `#e=${seq}` }, ...children);

/** Return a time of the run as text: 12.345 s, or 26 h 03 m 12.345 s. */
function seconds(t_ms) {
  if (t_ms < 3_600_000) return `${(t_ms / 1000).toFixed(3)} s`;
  const minutes = Math.floor(t_ms / 60_000);
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m ${((t_ms % 60_000) / 1000).toFixed(3).padStart(6, "0")} s`;
}

/** Return a length of time as text: 98 ms, 2.1 s, 3 min 12 s. */
function duration(length_ms) {
  if (length_ms < 1000) return `${length_ms} ms`;
  if (length_ms < 60_000) return `${(length_ms / 1000).toFixed(1)} s`;
  if (length_ms < 3_600_000) return `${Math.floor(length_ms / 60_000)} min ${Math.floor((length_ms % 60_000) / 1000)} s`;
  return `${Math.floor(length_ms / 3_600_000)} h ${String(Math.floor((length_ms % 3_600_000) / 60_000)).padStart(2, "0")} min`;
}

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Return a znode's data or other JSON in readable form; text that is not JSON is returned unchanged. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_, inner) => `[${inner.replace(/\s+/g, " ")}]`);
  } catch {
    return text;
  }
}

/** Compares names by their words and numbers: broker-2 comes before broker-10. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** Return the index of the last number in an ascending list that is not above `wanted`; -1 if there is none. */
function lastNotAbove(numbers, wanted) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
