"use strict";
// A run that goes on: what the server sends is appended to the run, and what is done here is sent to it.

const RECONNECT_MS = 1000;
const GROW_EVERY_MS = 200;

class Play {
  constructor() {
    this.chosen = null;
    this.now_ms = 0;
    this.growth = null;
    this.shownEnd = 0; // the place of the last event that the page shows
    byId("act-steps").append(...COMMON_STEPS.map((value) => element("option", { value })));
    this.listen();
    kcsim.ready = new Promise((resolve) => (this.resolve = resolve));
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`${location.href.replace(/^http/, "ws").replace(/[#?].*/, "")}stream`);
    this.socket.addEventListener("message", ({ data }) => this.take(JSON.parse(data)));
    this.socket.addEventListener("close", () => {
      byId("connection").textContent = "The server does not answer; this is what was seen until now.";
      setTimeout(() => this.connect(), RECONNECT_MS);
    });
    this.socket.addEventListener("open", () => (byId("connection").textContent = ""));
  }

  send(wanted) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wanted));
  }

  // --- what comes

  take(message) {
    if (message.all) this.begin(message);
    if (message.part) this.append(message);
    if (message.clock) this.showClock(message.clock);
    if (message.acts) this.showActs(message.acts);
    if (message.scenario) saveText("play.yaml", message.scenario);
    if (message.refused) byId("act-refused").textContent = `${seconds(message.refused.at_ms)}, ${message.refused.step}: ${message.refused.why}`;
  }

  /** Show a run from its beginning: when the page opens, and when somebody has gone back. */
  begin({ all: [first, ...more], about }) {
    if (kcsim.run) {
      location.reload(); // everything that is shown belongs to the other run
      return;
    }
    if (first === undefined) return;
    showRun({ about, ...first }, more);
    this.shownEnd = kcsim.run.length - 1;
    kcsim.page.go(this.shownEnd, false);
    this.showButtons();
    this.resolve();
  }

  /** Append a part of the run. It is shown a little later, with those that come until then. */
  append({ part, about }) {
    if (!kcsim.run) {
      this.begin({ all: [part], about });
      return;
    }
    kcsim.run.about = about;
    kcsim.run.append(part);
    kcsim.histories.append(part.changes, kcsim.run.texts);
    this.growth ??= setTimeout(() => this.grow(), GROW_EVERY_MS);
  }

  /** Show what was appended. Who has gone to an earlier event meanwhile stays there. */
  grow() {
    const wasAtEnd = kcsim.page.place >= this.shownEnd;
    this.growth = null;
    this.shownEnd = kcsim.run.length - 1;
    kcsim.page.grow(wasAtEnd);
    this.showButtons();
  }

  showClock({ now_ms, speed, paused }) {
    this.now_ms = now_ms;
    byId("clock-now").textContent = seconds(now_ms);
    byId("clock-pause").setAttribute("aria-pressed", String(paused));
    if (document.activeElement !== byId("clock-speed")) byId("clock-speed").value = String(speed);
  }

  showActs(acts) {
    byId("act-list").replaceChildren(...acts.map(([at_ms, step]) => element("li", {}, `${seconds(at_ms)} ${step}`)));
  }

  // --- what is done

  act(step) {
    byId("act-refused").textContent = "";
    this.send({ act: step });
  }

  choose(broker) {
    this.chosen = broker;
    this.showButtons();
  }

  showButtons() {
    const { run, histories } = kcsim;
    if (!histories) return;
    const names = histories.namesOf("process").filter((name) => name.startsWith(BROKER));
    const broker = this.chosen ?? names[0];
    if (broker === undefined) return;
    const state = histories.at(run.length - 1, "process", broker) ?? "unknown";
    const choice = element("select", { "aria-label": "Broker", onchange: (event) => this.choose(event.target.value) },
      names.map((name) => element("option", { value: name, selected: name === broker }, name)));
    if (!byId("act-buttons").contains(document.activeElement)) {
      byId("act-buttons").replaceChildren(choice, ...actButtons(broker, state, (step) => this.act(step)));
    }
  }

  listen() {
    byId("clock-pause").addEventListener("click", () => this.togglePause());
    byId("clock-next").addEventListener("click", () => this.send({ next: true }));
    byId("clock-speed").addEventListener("change", (event) => this.send({ speed: Number(event.target.value) }));
    byId("clock-save").addEventListener("click", () => this.send({ save: true }));
    byId("clock-back").addEventListener("click", () => this.send({ back: kcsim.run.times[kcsim.page.place] }));
    byId("act-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = byId("act-text").value.trim();
      if (text) this.act(text);
      byId("act-text").value = "";
    });
    byId("cluster").addEventListener("click", (event) => {
      const card = event.target.closest("[data-broker]");
      if (card) this.choose(`${BROKER}${card.dataset.broker}`);
    });
    document.addEventListener("keydown", (event) => {
      if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "p") this.togglePause();
      if (event.key === "n") this.send({ next: true });
    });
  }

  togglePause() {
    this.send({ paused: byId("clock-pause").getAttribute("aria-pressed") !== "true" });
  }
}

/** Let the browser save a text as a file. */
function saveText(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "application/yaml" })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const play = new Play();
