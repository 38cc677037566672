"use strict";
// The menu of what can be done to a thing, at the place where it was asked for. Acts that need values or a second thought ask a
// question first; it says what they will do.

class ActMenu {
  /** Args: act: is called with a step, what it declares, and the prediction that was made; predictions: what to ask before. */
  constructor(act, predictions) {
    this.act = act;
    this.predictions = predictions;
    this.box = byId("act-menu");
    this.opener = null;
    document.addEventListener("pointerdown", (event) => {
      if (!this.box.hidden && !this.box.contains(event.target)) this.close(false);
    });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("focusout", (event) => {
      if (event.relatedTarget !== null && !this.box.contains(event.relatedTarget)) this.close(false);
    });
  }

  /** Args: point: [x, y] in the window; opener: how to find the element that gets the focus back. */
  open(thing, point, opener) {
    this.now = new Present(kcsim.run, kcsim.histories);
    Object.assign(this, { thing, opener, point });
    const title = thing.type === "cluster" ? "the cluster" : thing.name;
    const items = ACTS[thing.type].map((act) => this.item(act));
    this.show(element("h2", {}, `Acts on ${title}`), element("div", { role: "menu", "aria-label": `Acts on ${title}` }, items));
    (items.find((item) => item.getAttribute("aria-disabled") === null) ?? items[0]).focus();
  }

  item(act) {
    const why = act.needs?.(this.thing, this.now) ?? null;
    return element(
      "button",
      { type: "button", role: "menuitem", tabindex: "-1", "data-act": act.name, "aria-disabled": why === null ? null : "true", onclick: () => why === null && this.choose(act) },
      element("b", {}, act.name, act.asks ? " …" : ""),
      element("span", {}, why === null ? sentenceOf(act, this.thing, this.now) : `Not now: ${why}.`),
    );
  }

  choose(act) {
    if (act.asks) this.question(act);
    else this.do(act, {});
  }

  question(act) {
    const fields = act.fields?.(this.thing, this.now) ?? [];
    const inputs = fields.map((field) => this.input(field));
    const step = element("code", {});
    const read = () => Object.fromEntries(inputs.map((input) => [input.name, input.value]));
    const show = () => (step.textContent = act.step(this.thing, read(), this.now));
    const form = element(
      "form",
      { onsubmit: (event) => {
        event.preventDefault();
        this.do(act, read());
      }, oninput: show },
      element("p", {}, sentenceOf(act, this.thing, this.now)),
      inputs.map((input, i) => element("label", {}, fields[i].label, input)),
      element("p", { class: "muted" }, "Step: ", step),
      element("div", { class: "buttons" }, element("button", { type: "submit" }, "Do it"), element("button", { type: "button", onclick: () => this.close(true) }, "Cancel")),
    );
    show();
    this.show(element("h2", {}, this.thing.type === "cluster" ? act.name : `${act.name}: ${this.thing.name}`), form);
    (inputs[0] ?? form.querySelector("button")).focus();
  }

  input({ name, value, choices, isLong }) {
    if (choices) return element("select", { name }, choices.map((choice) => element("option", { value: choice }, choice)));
    const made = element(isLong ? "textarea" : "input", { name, rows: isLong ? "5" : null, type: isLong ? null : "text", spellcheck: "false", autocomplete: "off" });
    made.value = value;
    return made;
  }

  do(act, values) {
    const [step, declares] = [act.step(this.thing, values, this.now), act.declares?.(this.thing, values) ?? {}];
    const asked = this.predictions.questionAbout(step, this.now);
    if (asked === null) {
      this.close(true);
      this.act(step, declares, null);
    } else this.predict(step, declares, asked);
  }

  /** Ask what will come of a step before it is done. */
  predict(step, declares, asked) {
    const buttons = asked.choices.map((choice) => element("button", { type: "button", role: "menuitem", tabindex: "-1", "data-choice": choice, onclick: () => {
      this.close(true);
      this.act(step, declares, { asked, given: choice });
    } }, element("b", {}, choice)));
    this.show(element("h2", {}, asked.question), element("p", { class: "muted" }, "Step: ", element("code", {}, step)), element("div", { role: "menu", "aria-label": asked.question }, buttons));
    buttons[0].focus();
  }

  show(...content) {
    this.box.replaceChildren(...content);
    this.box.hidden = false;
    const [x, y] = this.point;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(Math.min(x, document.documentElement.clientWidth - width - 8), 8)}px`;
    this.box.style.top = `${Math.max(Math.min(y, window.innerHeight - height - 8), 8)}px`;
  }

  close(isFocusReturned) {
    this.box.hidden = true;
    if (isFocusReturned) this.opener?.()?.focus();
  }

  key(event) {
    const items = [...this.box.querySelectorAll("[role=menuitem]")];
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    event.stopPropagation(); // the page's own keys have no effect in a menu
    if (event.key === "Escape") this.close(true);
    else if (items.length && to !== undefined) items[(to + items.length) % items.length].focus();
    else if (items.length && event.key === "Tab") this.close(true);
    else return;
    event.preventDefault();
  }
}
