"use strict";
// A run that goes on: what the server sends is appended to the run, and what is done here is sent to it.

const GROW_EVERY_MS = 200;

class Play {
  constructor() {
    this.now_ms = 0;
    this.reached_ms = -1; // until when the page has everything that happens
    this.growth = null;
    this.shownEnd = 0; // the place of the last event that the page shows
    this.bar = new ActBar((wanted) => this.send(wanted));
    this.futures = new Futures((wanted) => this.send(wanted));
    this.live = new Live((wanted) => this.send(wanted));
    this.listen();
    kcsim.ready = new Promise((resolve) => (this.resolve = resolve));
    const saved = byId("saved").textContent;
    this.server = saved ? new Saved(saved, (message) => this.take(message)) : new Server((message) => this.take(message));
  }

  send(wanted) {
    this.server.send(wanted);
  }

  // --- what comes

  take(message) {
    if (message.acts) this.bar.showActs(message.acts); // before the events that follow from them
    if (message.all) this.begin(message);
    if (message.parts) this.append(message.parts);
    if (message.about && !message.all) this.showStory(message.about);
    if (message.clock) this.showClock(message.clock);
    if (message.live) this.live.show(message.live);
    if (message.forks) this.futures.show(message.forks);
    if (message.compared) this.futures.compare(message);
    if (message.scenario) saveText("play.yaml", message.scenario, "application/yaml");
    if (message.shared) saveText("play.html", message.shared, "text/html");
    if (message.problem) byId("act-refused").textContent = message.problem;
    if (message.refused) this.bar.showRefused(message.refused);
  }

  /** Show a run from its beginning: when the page opens or connects again, and when another future is shown. */
  begin({ all: [first, ...more], about, forks }) {
    const isFirst = !kcsim.run;
    const { run, histories, page } = kcsim;
    const isSame = forks.now === this.futures.forks.now;
    const seq = isFirst || !isSame || page.place >= this.shownEnd ? null : run.seqs[page.place];
    const firstSeq = run?.seqs[0];
    if (isFirst) showRun({ about, ...first }, more);
    else {
      run.load({ about, ...first });
      histories.load(first.changes, run.texts);
      for (const part of more) this.join(part);
    }
    this.complete(about);
    this.shownEnd = kcsim.run.length - 1;
    if (isFirst) kcsim.page.go(kcsim.page.placeInAddress() ?? this.shownEnd, false);
    else page.renew(seq === null ? this.shownEnd : run.placeFrom(seq));
    if (!isSame || firstSeq !== kcsim.run.seqs[0]) this.bar.begin(); // else what was read of it is still its beginning
    this.bar.grow();
    this.resolve();
  }

  join(part) {
    kcsim.run.append(part);
    kcsim.histories.append(part.changes, kcsim.run.texts);
  }

  /** Append parts of the run. They are shown a little later, with those that come until then. */
  append(parts) {
    for (const part of parts) this.join(part);
    this.complete(kcsim.run.about);
    this.growth ??= setTimeout(() => this.grow(), GROW_EVERY_MS);
  }

  /** Take the story of the run, which is not sent with each event. */
  showStory(about) {
    this.complete(about);
    this.growth ??= setTimeout(() => this.grow(), GROW_EVERY_MS);
  }

  /** Complete the facts about the run by those that each event changes. */
  complete(about) {
    const { run } = kcsim;
    run.about = { ...about, events: run.length, last_ms: run.times.at(-1), stretches: [[0, run.length]] };
  }

  /** Show what was appended. Who has gone to an earlier event meanwhile stays there. */
  grow() {
    const wasAtEnd = kcsim.page.place >= this.shownEnd;
    this.growth = null;
    this.shownEnd = kcsim.run.length - 1;
    kcsim.page.grow(wasAtEnd);
    this.bar.grow();
  }

  showClock({ now_ms, speed, paused, behind }) {
    this.now_ms = now_ms;
    if (!behind) this.reached_ms = now_ms;
    byId("clock-now").textContent = `${seconds(now_ms)}${behind && now_ms > (kcsim.run?.times.at(-1) ?? 0) + 1000 ? " …" : ""}`;
    byId("clock-pause").setAttribute("aria-pressed", String(paused));
    if (document.activeElement !== byId("clock-speed")) byId("clock-speed").value = String(speed);
    this.futures.showClock(now_ms);
    this.futures.showReached({ now_ms, behind });
  }

  // --- what is done

  listen() {
    byId("clock-pause").addEventListener("click", () => this.togglePause());
    byId("clock-next").addEventListener("click", () => this.send({ next: true }));
    byId("clock-speed").addEventListener("change", (event) => this.send({ speed: Number(event.target.value) }));
    byId("clock-save").addEventListener("click", () => this.send({ save: true }));
    byId("clock-share").addEventListener("click", () => this.send({ share: true }));
    byId("clock-back").addEventListener("click", () => this.send({ back: kcsim.run.times[kcsim.page.place] }));
    document.addEventListener("keydown", (event) => {
      if (isTyping(event) || isLive()) return;
      if (event.key === "p") this.togglePause();
      if (event.key === "n") this.send({ next: true });
    });
  }

  togglePause() {
    this.send({ paused: byId("clock-pause").getAttribute("aria-pressed") !== "true" });
  }
}

/** Let the browser save a text as a file. */
function saveText(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const play = new Play();
