"use strict";
// A run that goes on: what the server sends is appended to the run, and what is done here is sent to it.

const RECONNECT_MS = 1000;
const GROW_EVERY_MS = 200;

class Play {
  constructor() {
    this.now_ms = 0;
    this.growth = null;
    this.shownEnd = 0; // the place of the last event that the page shows
    this.bar = new ActBar((wanted) => this.send(wanted));
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
    if (message.acts) this.bar.showActs(message.acts); // before the events that follow from them
    if (message.all) this.begin(message);
    if (message.part) this.append(message);
    if (message.clock) this.showClock(message.clock);
    if (message.scenario) saveText("play.yaml", message.scenario);
    if (message.refused) this.bar.showRefused(message.refused);
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
    this.bar.grow();
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
    this.bar.grow();
  }

  showClock({ now_ms, speed, paused }) {
    this.now_ms = now_ms;
    byId("clock-now").textContent = seconds(now_ms);
    byId("clock-pause").setAttribute("aria-pressed", String(paused));
    if (document.activeElement !== byId("clock-speed")) byId("clock-speed").value = String(speed);
  }

  // --- what is done

  listen() {
    byId("clock-pause").addEventListener("click", () => this.togglePause());
    byId("clock-next").addEventListener("click", () => this.send({ next: true }));
    byId("clock-speed").addEventListener("change", (event) => this.send({ speed: Number(event.target.value) }));
    byId("clock-save").addEventListener("click", () => this.send({ save: true }));
    byId("clock-back").addEventListener("click", () => this.send({ back: kcsim.run.times[kcsim.page.place] }));
    document.addEventListener("keydown", (event) => {
      if (isTyping(event)) return;
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
