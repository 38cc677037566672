"use strict";
// A run that goes on: what the server sends is appended to the run, and what is done here is sent to it.

const GROW_EVERY_MS = 200;
const REST_AFTER_GROWTH = 4; // times as long as the drawing took

class Play {
  constructor() {
    this.now_ms = 0;
    this.reached_ms = -1; // until when the page has everything that happens
    this.growth = null;
    this.growthTook_ms = 0;
    this.mostWhole = null; // events that the page keeps; of more, it leaves out most
    this.fetched = null; // the event whose surroundings the server was asked for
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

  /** Show a run anew: when the page opens or connects again, when another future is shown, or other parts of a long run. */
  begin({ all, around = null, about, forks, most_whole: mostWhole = null }) {
    const isFirst = !kcsim.run;
    const { run, histories, page } = kcsim;
    const isSame = forks.now === this.futures.forks.now;
    const seq = around ?? (isFirst || !isSame || page.place >= this.shownEnd ? null : run.seqs[page.place]);
    const zoom = isSame && around !== null ? page.scale.times : null;
    if (isFirst) {
      const whole = joined(about, all);
      this.complete(about, whole.run);
      whole.run.canFetch = mostWhole !== null;
      showRun(whole);
      if (mostWhole !== null) kcsim.page.fetch = (wanted) => this.fetch(wanted);
    } else {
      run.clear(about);
      histories.clear();
      for (const part of all) join(run, histories, part);
      this.complete(about);
    }
    this.fetched = null;
    this.mostWhole ??= mostWhole ?? Infinity;
    this.shownEnd = kcsim.run.length - 1;
    if (!isFirst) this.bar.begin(!isSame);
    if (isFirst) kcsim.page.go(kcsim.page.placeInAddress() ?? this.shownEnd, false);
    else page.renew(seq === null ? this.shownEnd : run.placeFrom(seq), zoom);
    this.bar.grow();
    this.resolve();
  }

  /** Let the server send what surrounds an event of a long run; one event at a time, as one may be moving over many. */
  fetch(seq) {
    if (this.fetched !== null) return;
    this.fetched = seq;
    this.send({ around: seq });
  }

  /** Append parts of the run. They are shown a little later, with those that come until then. */
  append(parts) {
    for (const part of parts) join(kcsim.run, kcsim.histories, part);
    this.complete(kcsim.run.about);
    this.growSoon();
  }

  /** Take the story of the run, which is not sent with each event. */
  showStory(about) {
    this.complete(about);
    this.growSoon();
  }

  /** Complete the facts about the run by those that each event changes. */
  complete(about, run = kcsim.run) {
    run.about = { ...about, events: run.inTrace.at(-1) + 1, last_ms: run.times.at(-1) };
  }

  /** Show what was appended a little later, but leave most of the time to the browser: a large run takes long to be drawn. */
  growSoon() {
    if (this.growth !== null) return;
    const delay = Math.max(GROW_EVERY_MS, REST_AFTER_GROWTH * this.growthTook_ms);
    this.growth = setTimeout(() => this.grow(), delay);
  }

  /** Show what was appended. Who has gone to an earlier event meanwhile stays there. */
  grow() {
    const began_ms = performance.now();
    const wasAtEnd = kcsim.page.place >= this.shownEnd;
    this.growth = null;
    this.forget(wasAtEnd);
    this.shownEnd = kcsim.run.length - 1;
    kcsim.page.grow(wasAtEnd);
    this.bar.grow();
    this.growthTook_ms = performance.now() - began_ms;
  }

  /** Leave out most events of a run that has become too long, but for those around the shown one and the last ones. */
  forget(wasAtEnd) {
    const { run, histories, page } = kcsim;
    const whole = run.stretches.reduce((sum, [first, end]) => sum + end - first, 0);
    if (whole <= this.mostWhole) return;
    const kept = [[Math.max(run.length - Math.floor(this.mostWhole / 3), 0), run.length]];
    if (!wasAtEnd && run.isKnown(page.place)) {
      const half = Math.floor(this.mostWhole / 6);
      kept.unshift([Math.max(page.place - half, 0), Math.min(page.place + half, run.length)]);
    }
    const stretches = stretchesIn(kept, run.stretches);
    const newPlaces = run.thin(stretches);
    histories.thin(newPlaces, run.stretches);
    page.place = newPlaces[page.place];
    page.forget();
    this.bar.thin(newPlaces);
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

/** Return what some stretches of events, which may overlap, have in common with others. */
function stretchesIn(wanted, present) {
  const found = [];
  for (const [first, end] of present) {
    for (const [from, to] of wanted) {
      const [begin, until] = [Math.max(first, from, found.at(-1)?.[1] ?? 0), Math.min(end, to)];
      if (begin >= until) continue;
      if (found.at(-1)?.[1] === begin && begin > first) found.at(-1)[1] = until;
      else found.push([begin, until]);
    }
  }
  return found;
}

/** Let the browser save a text as a file. */
function saveText(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const play = new Play();
