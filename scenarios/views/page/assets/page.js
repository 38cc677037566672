"use strict";
// The page: one current event, shown in all views, and the controls that change it.

const SLOWEST_MS = 1600;
const FASTEST_MS = 300;
const ADDRESS_EVERY_MS = 300;
/** State machine -> the kinds of event that are its transitions. */
const KINDS_OF_MACHINES = {
  "partition-states": ["PartitionStateChange"],
  "replica-states": ["ReplicaStateChange"],
  "session-states": ["SessionState"],
  "group-states": ["GroupMemberJoined", "GroupRebalance", "GroupGeneration", "GroupStable"],
  "process-states": ["ProcessState"],
  "broker-process-states": ["ProcessState"],
};
const UNUSED_PROCESSES = { true: "process-states", false: "broker-process-states" }; // whether the brokers are processes of their own
const THEMES = ["auto", "light", "dark"];

class Page {
  constructor(run, histories) {
    Object.assign(this, { run, histories });
    this.place = 0;
    this.timer = null;
    this.addressTimer = null;
    this.fetch = null; // called with the seq of an event whose surroundings are to be fetched, if they can be
    this.scale = new Scale(run);
    this.picture = new Picture(run, histories, this.scale, byId("lanes"), byId("axis"));
    this.list = new EventList(run, (place) => this.go(place));
    this.tree = new Tree(byId("tree"), byId("path"), run, histories);
    this.partitions = new PartitionPanel(byId("partition-list"), byId("partition-search"), run, histories, (name) => this.listEventsOf(name));
    this.matrix = new PartitionMatrix(histories, (name) => this.listEventsOf(name));
    this.diagram = new Diagram(byId("messages"), run);
    this.showSummary();
    this.showAbout();
    this.showVerdicts();
    this.showSigns();
    this.listen();
    this.resize();
    this.go(this.placeInAddress() ?? run.placeFrom(run.about.story.opens_at), false);
  }

  // --- the current event

  /** Make an event the current one, and show it. */
  go(place, isInAddress = true) {
    this.place = Math.min(Math.max(place, 0), this.run.length - 1);
    if (this.scale.reveal(this.place)) this.picture.draw();
    this.list.show(this.place);
    this.showMoment();
    showStory(byId("story"), this.run, this.histories, this.place);
    this.showState();
    if (isInAddress) this.writeAddress();
    if (this.fetch !== null && !this.run.isKnown(this.place)) this.fetch(this.run.seqs[this.place]);
  }

  showMoment() {
    const { run, place } = this;
    const line = byId("line");
    line.style.left = `${this.picture.x(place)}px`;
    line.style.height = `${this.picture.height}px`;
    const slider = byId("slider");
    slider.value = Math.round(this.scale.shown(place) * 10000);
    const position = `event #${run.seqs[place]} at ${seconds(run.times[place])}`;
    slider.setAttribute("aria-valuetext", `${position}: ${run.node(place)} ${run.says(place)}`);
    byId("moment").textContent = `${seconds(run.times[place])}, event #${run.seqs[place]}`;
    byId("lanes").setAttribute("aria-label", `Lanes of ${plural(this.picture.lanes.length, "node and partition", "nodes and partitions")} over time; the moment is ${position}. The panels below say the same in words.`);
  }

  /** Update the panels of the cluster, the znodes and the state machines that are visible. */
  showState() {
    const isSeen = (id) => this.isWide ? document.body.dataset.state === id : document.body.dataset.panel === id;
    if (isSeen("cluster")) showCluster(byId("cluster"), this.run, this.histories, this.picture.controllers, this.place, this.matrix);
    if (isSeen("partitions")) this.partitions.show(this.place);
    if (isSeen("messages")) this.diagram.show(this.place);
    if (isSeen("znodes")) this.tree.show(this.place);
    if (isSeen("states")) this.showMachines();
  }

  /** Mark the state that the current event leads into. Machines that the run never uses are not shown. */
  showMachines() {
    const { run, place } = this;
    this.kinds ??= new Set(run.kinds);
    const isKafka = run.value(0, "broker_software") !== undefined;
    const state = run.value(place, "state")?.toLowerCase();
    let isThere = false;
    let hidden = 0;
    for (const figure of document.querySelectorAll("#states figure")) {
      const { machine } = figure.dataset;
      const kinds = KINDS_OF_MACHINES[machine];
      figure.hidden = machine === UNUSED_PROCESSES[isKafka] || !kinds.some((kind) => this.kinds.has(kind));
      hidden += Number(figure.hidden);
      const isAbout = kinds.includes(run.kind(place));
      for (const drawn of figure.querySelectorAll(".state")) {
        const isNow = isAbout && state !== undefined && drawn.querySelector("text").textContent.toLowerCase() === state;
        drawn.classList.toggle("now", isNow);
        isThere ||= isNow;
      }
    }
    const now = isThere ? `${run.node(place)} ${run.says(place)}` : "An event that leads into one of these states marks it.";
    const rest = hidden ? ` Not shown: ${plural(hidden, "state machine")} that this run never uses.` : "";
    byId("states-now").textContent = `${now}${rest}`;
  }

  /** Return the index of the next notable event in a direction; the end of the run if there is none. */
  nextOfNote(by) {
    let at = this.place + by;
    while (at > 0 && at < this.run.length - 1 && this.run.ranks[at] === ORDINARY) at += by;
    return at;
  }

  placeInAddress() {
    const found = /[#&]e=(\d+)/.exec(location.hash);
    if (!found) return null;
    const seq = Number(found[1]);
    const exactly = this.run.placeOf(seq);
    if (exactly === null && this.fetch !== null) {
      this.fetch(seq);
      return this.place;
    }
    if (exactly === null) this.notice(`This page does not have event #${seq}; here is what it has before it.`);
    return exactly ?? Math.max(lastNotAbove(this.run.seqs, seq), 0);
  }

  /** Write the current event into the address, the latest one after a delay: browsers allow few changes per second. */
  writeAddress() {
    if (this.addressTimer !== null) return;
    const write = () => history.replaceState(null, "", `#e=${this.run.seqs[this.place]}`);
    write();
    this.addressTimer = setTimeout(() => {
      this.addressTimer = null;
      write();
    }, ADDRESS_EVERY_MS);
  }

  // --- a run that goes on

  /** Show another run, which the run's objects have taken in place of the one before. */
  renew(place, times = null) {
    this.pause();
    this.forget();
    this.place = Math.min(place, this.run.length - 1);
    this.scale.grow();
    this.scale.showTimes(times);
    this.grow(false);
  }

  /** Forget what was read of the run: events were left out of it, or it is another one. */
  forget() {
    this.kinds = null;
    this.scale.clock.length = 0;
    this.picture.forget();
    this.list.forget();
  }

  /** Show what was appended to the run. A page that shows the last event moves on to the new last one. */
  grow(wasAtEnd) {
    this.scale.grow();
    this.picture.grow();
    this.list.grow();
    this.showSummary();
    this.showFacts();
    this.showSigns();
    this.picture.resize();
    this.go(wasAtEnd ? this.run.length - 1 : this.place, false);
  }

  // --- playing

  get isPlaying() {
    return this.timer !== null;
  }

  play() {
    if (this.list.step(1) === null) this.go(0);
    this.timer = setTimeout(() => this.playOn(), 0);
    this.showPlaying();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlaying();
  }

  /** Go one step, and schedule the next one after a delay that represents the time between the two events. */
  playOn() {
    const next = this.list.step(1);
    if (next === null) return this.pause();
    this.go(next);
    const then = this.list.step(1) ?? next;
    const passes = this.run.times[then] - this.run.times[next];
    const delay = Math.min(Math.max(passes, FASTEST_MS), SLOWEST_MS) / Number(byId("speed").value);
    this.timer = setTimeout(() => this.playOn(), delay);
    return undefined;
  }

  showPlaying() {
    const button = byId("play");
    button.textContent = this.isPlaying ? "❚❚" : "▶";
    button.setAttribute("aria-label", this.isPlaying ? "Pause (Space)" : "Play (Space)");
    button.title = button.getAttribute("aria-label");
  }

  // --- elements that are made once

  /** Show the facts about the run in one line. */
  showFacts() {
    const { about } = this.run;
    byId("name").textContent = about.name;
    const facts = [about.seed === null ? null : `seed ${about.seed}`, about.detail, plural(about.events, "event"), seconds(about.last_ms), about.trace, about.made_by];
    byId("about").textContent = byId("about").title = facts.filter(Boolean).join(" · ");
  }

  showAbout() {
    const { about } = this.run;
    this.showFacts();
    if (about.problem) this.notice(`The trace could not be read to its end: ${about.problem}. The page has what came before.`);
    if (about.events > this.run.length && !this.run.canFetch) {
      const parts = this.run.stretches.map(([first, end]) => `#${this.run.seqs[first]} to #${this.run.seqs[end - 1]}`);
      this.notice(
        `The ${about.trace === null ? "run" : "trace"} has ${plural(about.events, "event")}, this page ${this.run.length.toLocaleString("en")} of them: `
        + `all from ${parts.slice(0, 4).join(", ")}${parts.length > 4 ? ` and in ${parts.length - 4} more stretches` : ""}; `
        + `elsewhere what is of note, and what led to it.${about.trace === null ? "" : " Other stretches: kcsim report with --from and --to."}`,
      );
    }
  }

  /** Show the run in its three sentences. */
  showSummary() {
    byId("summary").replaceChildren(...this.run.about.story.sentences.map((sentence) => element("li", {}, sentence)));
  }

  /** List the events about a partition. */
  listEventsOf(name) {
    const select = byId("by-partition");
    if (![...select.options].some((option) => option.value === name)) select.append(element("option", { value: name }, name));
    select.value = name;
    this.list.filter();
    if (!this.isWide) this.panel("events");
  }

  notice(text) {
    byId("notices").append(element("li", { class: "notice" }, text));
  }

  showVerdicts() {
    const { run } = this;
    const judged = [];
    for (let place = 0; place < run.length; place++) if (run.kind(place) === "Expectation") judged.push(place);
    const box = byId("verdicts");
    if (!judged.length) {
      box.replaceWith(element("p", { id: "verdicts", class: "none" }, "The trace has no verdict: it expects nothing, or was not ended."));
      return;
    }
    const outcome = (place) => run.value(place, "outcome") ?? "undecided";
    const bad = judged.filter((place) => outcome(place) !== "held");
    box.classList.add(bad.length ? "bad" : "good");
    box.open = bad.length > 0;
    byId("verdict").textContent = bad.length
      ? `✗ ${bad.length} of ${plural(judged.length, "expectation")} did not hold`
      : `✓ ${judged.length === 1 ? "the expectation held" : `all ${judged.length} expectations held`}`;
    byId("expectations").append(...judged.map((place) => this.expectation(place, outcome(place))));
  }

  expectation(place, outcome) {
    const { run } = this;
    const sign = { held: "✓", violated: "✗" }[outcome] ?? "?";
    const cause = run.causeSeq(place);
    const moment = cause === null ? null : run.placeOf(cause);
    return element(
      "li",
      { class: outcome },
      element("strong", {}, `${sign} ${outcome}`),
      ` ${run.value(place, "rule") ?? ""} `,
      element("span", { class: "muted" }, run.value(place, "detail") ?? ""),
      " ",
      moment === null ? "" : momentLink(cause, `decided at ${seconds(run.times[moment])}, #${cause}`),
    );
  }

  /** Explain the bars of the lanes, and the signs and bars that occur in this run. */
  showSigns() {
    const { run, histories } = this;
    const bar = (words, name) => element("li", {}, element("span", { class: `swatch ${name}`, "aria-hidden": "true" }), words);
    const states = new Set(histories.namesOf("process").flatMap((name) => histories.history("process", name).values));
    const hasUnderReplicated = histories.namesOf("partition").some((name) => histories.history("partition", name).values.some((value) => value?.[4].includes("u")));
    const hasPartitions = histories.namesOf("partition").length > 0;
    const isLost = this.picture.controllers.intervals.some(({ broker }) => broker === null);
    byId("bars").replaceChildren(
      bar("a process runs", "up"),
      bar("works as the controller", "controller"),
      ...(isLost ? [bar("named in /controller, but dead, frozen or not ready", "in-office")] : []),
      ...(states.has("paused") ? [bar("frozen: the process stands still", "paused")] : []),
      ...(states.has("dead") || states.has("stopped") ? [bar("dead or stopped", "gone")] : []),
      ...(isLost || hasPartitions ? [bar(isLost ? `${this.picture.controllers.absence}${hasPartitions ? ", or no working leader" : ""}` : "no working leader", "offline")] : []),
      ...(hasUnderReplicated ? [bar("under-replicated: replicas are missing in the ISR", "under")] : []),
    );
    const used = new Set([...this.picture.marks.values()].flat().map((place) => signOf(run, place)));
    byId("signs").replaceChildren(
      ...Object.entries(SIGNS).filter(([name]) => used.has(name)).map(([name, [sign, words]]) => element("li", {}, element("span", { class: `glyph sign-${name}` }, sign), words)),
      bar("thin line below a broker: it is registered in ZooKeeper", "registered"),
      bar("its connection to ZooKeeper is lost, or its session has ended and it does not know", "doubt"),
      bar("thinks that it is controller, and is not", "zombie"),
    );
  }

  // --- user input

  listen() {
    const { run } = this;
    const moves = {
      first: () => 0,
      "note-back": () => this.nextOfNote(-1),
      back: () => this.place - 1,
      on: () => this.place + 1,
      "note-on": () => this.nextOfNote(1),
      last: () => run.length - 1,
    };
    this.move = (name) => {
      this.pause();
      this.go(moves[name]());
    };
    for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => this.move(button.dataset.go));
    byId("play").addEventListener("click", () => this.toggle());
    byId("slider").addEventListener("input", (event) => this.slide(Number(event.target.value) / 10000));
    byId("scale").addEventListener("change", (event) => this.look(() => (this.scale.mode = event.target.value)));
    byId("arrows").addEventListener("click", () => this.toggleArrows());
    byId("zoom-in").addEventListener("click", () => this.look(() => this.scale.zoom(0.5, this.place)));
    byId("zoom-out").addEventListener("click", () => this.look(() => this.scale.zoom(2, this.place)));
    byId("zoom-fit").addEventListener("click", () => this.look(() => this.scale.fit()));
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("help-close").addEventListener("click", () => byId("help").close());
    for (const button of document.querySelectorAll("nav [data-panel]")) button.addEventListener("click", () => this.panel(button.dataset.panel));
    byId("list").addEventListener("keydown", (event) => this.keyInList(event));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.go(this.placeInAddress() ?? this.place, false));
    window.addEventListener("resize", () => this.resize());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.picture.draw());
    this.listenToLanes();
    this.listenToTheme();
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  toggleArrows() {
    const isShown = this.picture.arrows === null;
    this.look(() => (this.picture.arrows = isShown ? arrowsOf(this.run) : null));
    byId("arrows").setAttribute("aria-pressed", String(isShown));
  }

  slide(point) {
    this.pause();
    this.go(this.scale.placeAt(point));
  }

  /** Redraw the lanes after a change of their view. */
  look(change) {
    change();
    this.picture.draw();
    this.showMoment();
  }

  panel(name) {
    document.body.dataset.panel = name;
    if (name !== "events" && name !== "story") document.body.dataset.state = name;
    this.showPanels();
    this.showState();
    if (name === "events") this.list.resize();
  }

  showPanels() {
    const { panel, state } = document.body.dataset;
    for (const button of document.querySelectorAll("nav [data-panel]")) {
      button.setAttribute("aria-pressed", String(button.dataset.panel === panel || (this.isWide && button.dataset.panel === state)));
    }
  }

  get isWide() {
    return window.matchMedia("(min-width: 900px)").matches;
  }

  resize() {
    this.picture.resize();
    const slider = byId("slider");
    slider.style.marginLeft = `${this.picture.labels - 8}px`;
    slider.style.width = `${this.picture.plot + 16}px`;
    this.list.resize();
    this.showPanels();
    this.showMoment();
    this.showState();
  }

  listenToLanes() {
    const canvas = byId("lanes");
    const hint = byId("hint");
    const { picture } = this;
    canvas.addEventListener("click", (event) => {
      this.pause();
      this.go(picture.eventAt(event.offsetX, event.offsetY));
    });
    canvas.addEventListener("pointermove", (event) => {
      const lane = picture.laneAt(event.offsetY);
      hint.hidden = lane === null || event.pointerType !== "mouse";
      if (hint.hidden) return;
      const place = picture.eventAt(event.offsetX, event.offsetY);
      hint.textContent = `${lane.label} · ${seconds(this.run.times[place])} · #${this.run.seqs[place]} ${this.run.node(place)} ${this.run.says(place)}`;
      hint.style.left = `${Math.min(event.offsetX + 12, Math.max(picture.width - 380, 0))}px`;
      hint.style.top = `${event.offsetY + 16}px`;
    });
    canvas.addEventListener("pointerleave", () => (hint.hidden = true));
  }

  listenToTheme() {
    const button = byId("theme");
    const show = (theme) => {
      if (theme === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      button.textContent = `Theme: ${theme}`;
      button.dataset.theme = theme;
      this.picture.draw();
    };
    button.addEventListener("click", () => show(THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length]));
    show("auto");
  }

  keyInList(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.pause();
    this.go(this.list.step(by) ?? this.place);
  }

  key(event) {
    const isTyping = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    const isPressing = event.key === " " && event.target.matches("button, summary, a, input[type=checkbox]");
    if (isTyping || isPressing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const does = {
      " ": () => this.toggle(),
      ArrowRight: () => this.move(event.shiftKey ? "note-on" : "on"),
      ArrowLeft: () => this.move(event.shiftKey ? "note-back" : "back"),
      Home: () => this.move("first"),
      End: () => this.move("last"),
      "?": () => byId("help").showModal(),
      m: () => this.toggleArrows(),
      "/": () => byId("search").focus(),
      "+": () => byId("zoom-in").click(),
      "-": () => byId("zoom-out").click(),
      0: () => byId("zoom-fit").click(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }
}

/** The page's interface for programs: kcsim.stateAt(place), kcsim.go(place), … */
const kcsim = {};

/** Return a run and its histories from the parts that it was written in. */
function joined(about, parts) {
  const [run, histories] = [new Run(about), new Histories()];
  for (const part of parts) join(run, histories, part);
  return { run, histories };
}

/** Append a part to a run, or the state before the next part. */
function join(run, histories, part) {
  if (part.state) {
    histories.appendState(part.state, run.length);
    return;
  }
  const first = run.length;
  run.append(part);
  histories.append(part.changes, run.texts, first);
}

/** Show a run. */
function showRun({ run, histories }) {
  const page = new Page(run, histories);
  Object.assign(kcsim, { run, histories, page, stateAt: (place) => stateAt(histories, place), go: (place) => page.go(place) });
}

// The page of a finished run has it in itself; to that of a run that goes on it is sent (live.js).
const payload = byId("payload");
if (payload !== null) {
  kcsim.ready = unpacked(payload.textContent).then((content) => {
    payload.remove();
    const whole = joined(content.about, [content]);
    whole.run.stretches = content.about.stretches;
    showRun(whole);
  });
}
