"use strict";
// What was done to the cluster and what has followed, and the controls for what to do next.

const MOST_BROKER_BUTTONS = 12;
const MOST_ACTS_LISTED = 40;

class ActBar {
  /** Args: send: is called with what the server is asked for. */
  constructor(send) {
    this.send = send;
    this.acts = []; // [at_ms, step, why it was refused or null]
    this.predictions = new Predictions();
    this.menu = new ActMenu((step, declares, predicted) => this.act(step, declares, predicted), this.predictions);
    this.things = new ActThings(this.menu);
    this.consequences = new Consequences();
    this.links = new LinkStates();
    byId("act-steps").append(...COMMON_STEPS.map((value) => element("option", { value })));
    byId("act-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = byId("act-text").value.trim();
      if (text) this.act(text);
      byId("act-text").value = "";
    });
    for (const id of ["act-buttons", "link-table"]) {
      byId(id).addEventListener("click", ({ target }) => {
        const button = target.closest(".act-on");
        if (button) this.things.open(button);
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "a" && !isTyping(event)) this.things.open(byId("act-on-cluster"));
    });
  }

  act(step, declares = {}, predicted = null) {
    byId("act-refused").textContent = "";
    if (predicted) this.predictions.add(predicted.asked, predicted.given, step, this.acts.length);
    this.send({ act: step, declares });
  }

  /** Forget what was read of a run: another one is shown, or other parts of the same one. */
  begin(isOther = true) {
    this.consequences = new Consequences();
    this.links = new LinkStates();
    if (isOther) this.predictions.forget();
  }

  /** Take the new indices of the events when some were left out. Args: newPlaces: see Run.thin. */
  thin(newPlaces) {
    this.consequences.thin(newPlaces);
    this.links.thin(newPlaces);
  }

  showActs(acts) {
    if (acts.length < this.acts.length) this.begin();
    this.acts = acts;
    this.grow();
  }

  showRefused({ at_ms, step, why }) {
    byId("act-refused").textContent = `${seconds(at_ms)}, ${step}: ${why}`;
  }

  /** Show what was appended to the run. */
  grow() {
    const { run, histories } = kcsim;
    if (!histories) return;
    this.consequences.follow(run, histories, this.acts);
    this.links.follow(run);
    this.predictions.grow(run, this.consequences, this.acts);
    const now = new Present(run, histories);
    this.showButtons(now);
    this.showLinks(now);
    const earlier = Math.max(this.acts.length - MOST_ACTS_LISTED, 0);
    const lines = this.acts.slice(earlier).map((act, i) => this.line(act, earlier + i));
    byId("act-list").replaceChildren(...lines.reverse(), earlier ? element("li", { class: "muted" }, `… and ${plural(earlier, "earlier act")}`) : "");
  }

  line([at_ms, step, refused], i) {
    const followed = refused ? [`refused: ${refused}`] : this.consequences.words(kcsim.run, kcsim.histories, i);
    const first = this.consequences.found[i]?.first;
    const when = seconds(at_ms);
    return element(
      "li",
      {},
      first === undefined ? element("span", { class: "when" }, when) : momentLink(kcsim.run.seqs[first], when),
      element("code", {}, step),
      VERB_SENTENCES[verbOf(step)] ? element("span", { class: "muted" }, VERB_SENTENCES[verbOf(step)]) : "",
      element("span", { class: refused ? "bad" : "followed" }, followed.length ? followed.join("; ") : "nothing of note has followed so far"),
    );
  }

  showButtons(now) {
    const box = byId("act-buttons");
    const names = now.brokers.length > MOST_BROKER_BUTTONS ? [] : now.brokers;
    if (box.dataset.names === names.join(" ")) return;
    box.dataset.names = names.join(" ");
    for (const each of [...box.querySelectorAll("[data-type=broker]")]) each.remove();
    box.append(...names.map((name) => {
      const button = this.things.button("broker", name);
      button.textContent = name;
      return button;
    }));
  }

  showLinks(now) {
    const box = byId("link-table");
    const pairs = now.brokers.flatMap((one, i) => now.brokers.slice(i + 1).map((other) => this.links.between(one, other).size > 0));
    const bad = pairs.filter(Boolean).length;
    byId("link-summary").textContent = `Links between brokers: ${bad ? `${bad} of ${pairs.length} not as they should be` : "all as they should be"}`;
    const drawn = linkTable(this.links, now.brokers);
    if (box.innerHTML === drawn.outerHTML) return;
    const focused = box.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    box.replaceChildren(drawn);
    if (focused !== null) this.things.find(focused)?.focus();
  }
}

/** Return whether a key belongs to what is being typed, or to the browser. */
const isTyping = ({ target, ctrlKey, metaKey, altKey }) => target.matches("input, select, textarea") || ctrlKey || metaKey || altKey;
