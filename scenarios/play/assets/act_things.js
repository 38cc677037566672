"use strict";
// The things on the page that can be acted on: brokers, partitions, znodes, consumers and links. Each has a button that opens
// its menu; a click with the other mouse button and the key ContextMenu open it as well.

const THINGS = [
  ["[data-broker]", "broker", (at) => `${BROKER}${at.dataset.broker}`, (at) => at.querySelector("h3")],
  ["[data-consumer]", "consumer", (at) => at.dataset.consumer, (at) => at.querySelector("h3")],
  ["tr[data-partition]", "partition", (at) => at.dataset.partition, (at) => at.querySelector("td")],
  ["li[data-znode]", "znode", (at) => at.dataset.znode, (at) => at],
];
const PLACES_OF_THINGS = ["cluster", "partition-list", "tree"];

class ActThings {
  constructor(menu) {
    this.menu = menu;
    this.focused = null; // the label of the button that has the focus: panels are drawn anew while the run goes on
    for (const id of PLACES_OF_THINGS) {
      const place = byId(id);
      new MutationObserver(() => this.decorate(place)).observe(place, { childList: true, subtree: true });
      place.addEventListener("contextmenu", (event) => this.openAt(event));
      place.addEventListener("click", (event) => this.clicked(event));
      place.addEventListener("focusin", ({ target }) => (this.focused = target.matches(".act-on") ? target.getAttribute("aria-label") : null));
    }
    document.addEventListener("pointerdown", ({ target }) => (this.focused = target.matches(".act-on") ? this.focused : null));
    document.addEventListener("keydown", ({ key }) => (this.focused = key === "Tab" ? null : this.focused), true);
  }

  /** Add the buttons to what has none yet. */
  decorate(place) {
    for (const [selector, type, nameOf, spotOf] of THINGS) {
      for (const at of place.querySelectorAll(selector)) {
        const spot = spotOf(at);
        if (spot === null || [...spot.children].some((each) => each.matches(".act-on"))) continue;
        spot.append(this.button(type, nameOf(at)));
      }
    }
    if (this.focused !== null && document.activeElement === document.body) this.find(this.focused)?.focus();
  }

  button(type, name) {
    return element("button", { type: "button", class: "act-on", "aria-haspopup": "dialog", "aria-label": `Acts on ${name}`, title: `Acts on ${name}`, "data-type": type, "data-name": name }, "⋯");
  }

  find(label) {
    return [...document.querySelectorAll(".act-on")].find((each) => each.getAttribute("aria-label") === label && each.offsetParent !== null) ?? null;
  }

  clicked(event) {
    const button = event.target.closest(".act-on");
    const card = event.target.closest("[data-broker], [data-consumer]");
    if (button) this.open(button);
    else if (card && getSelection().isCollapsed) this.open(card.querySelector(".act-on"));
  }

  openAt(event) {
    for (const [selector] of THINGS) {
      const button = event.target.closest(selector)?.querySelector(".act-on");
      if (!button) continue;
      event.preventDefault();
      this.open(button, event.clientX || event.clientY ? [event.clientX, event.clientY] : null);
      return;
    }
  }

  /** Open the menu of the thing that a button belongs to, below the button if no point is given. */
  open(button, point = null) {
    const { left, bottom } = button.getBoundingClientRect();
    const label = button.getAttribute("aria-label");
    this.menu.open({ type: button.dataset.type, name: button.dataset.name }, point ?? [left, bottom], () => this.find(label));
  }
}
