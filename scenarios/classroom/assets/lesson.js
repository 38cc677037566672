"use strict";
// A lesson above the picture of its run. A question is answered by a click on the broker, partition or consumer meant, or by a
// choice; then the run goes on, as far as the answer needs it.

const RECONNECT_MS = 1000;
const CHOICE_LETTERS = "abcdefghij";

class Lesson {
  constructor() {
    this.lesson = null;
    this.at = 0; // the page that is shown; the last one unless somebody has gone back
    this.listen();
    kcsim.ready = new Promise((resolve) => (this.resolve = resolve));
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`${location.href.replace(/^http/, "ws").replace(/[#?].*/, "")}stream`);
    this.socket.addEventListener("open", () => {
      byId("connection").textContent = "";
      this.send({ pupil: pupilName() });
    });
    this.socket.addEventListener("message", ({ data }) => this.take(JSON.parse(data)));
    this.socket.addEventListener("close", () => {
      byId("connection").textContent = "The server does not answer.";
      setTimeout(() => this.connect(), RECONNECT_MS);
    });
  }

  send(wanted) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wanted));
  }

  take({ all, part, about, lesson }) {
    if (all && kcsim.run) {
      location.reload(); // the server was reached again: the run may have gone on meanwhile
      return;
    }
    if (all) {
      showRun(joined(about, all));
      this.resolve();
    }
    if (part) this.append(part, about);
    if (lesson) this.show(lesson);
  }

  append(part, about) {
    kcsim.run.about = about;
    join(kcsim.run, kcsim.histories, part);
    kcsim.page.grow(false);
  }

  // --- what is shown

  show(lesson) {
    const before = this.lesson;
    this.lesson = lesson;
    const hasMoved = before === null || before.place !== lesson.place;
    const wasAnswered = before !== null && !hasMoved && this.answered(before) === null && this.answered(lesson) !== null;
    if (hasMoved) this.at = lesson.place;
    this.draw();
    if (hasMoved) kcsim.page.go(kcsim.run.placeFrom(lesson.pages[this.at].seq), false);
    if (wasAnswered && this.at === lesson.place) kcsim.page.go(kcsim.run.placeFrom(this.answered(lesson).until), false);
  }

  answered(lesson) {
    return lesson.pages[lesson.place].question?.answered ?? null;
  }

  draw() {
    const { lesson } = this;
    const page = lesson.pages[this.at];
    const { question } = page;
    const isLast = this.at === lesson.place;
    byId("lesson-title").textContent = `${lesson.number ? `Lesson ${lesson.number}, page` : "Page"} ${this.at + 1} of ${lesson.count}`;
    const { right, asked, questions } = lesson.score;
    byId("lesson-score").textContent = lesson.leads && lesson.class ? plural(lesson.class.pupils, "pupil") : `${right} of ${asked} right, ${plural(questions, "question")}`;
    byId("lesson-text").replaceChildren(...page.text.split(/\n\s*\n/).map((text) => element("p", {}, text)));
    byId("lesson-back").disabled = this.at === 0;
    const mustAnswer = isLast && lesson.leads && !lesson.class && question && !question.answered;
    const isEnd = isLast && this.at + 1 === lesson.count && (!question || question.answered);
    byId("lesson-on").disabled = isEnd || (isLast && !lesson.leads);
    byId("lesson-on").textContent = isLast && question && !question.answered ? (mustAnswer ? "Show the answer" : "Show the answers") : "Go on";
    this.drawQuestion(question);
    this.drawAnswer(question, isEnd);
    this.drawSpread(question);
    this.markChoices();
  }

  drawQuestion(question) {
    byId("lesson-question").hidden = !question;
    document.body.classList.toggle("asks", this.isAsking);
    if (!question) return;
    byId("lesson-asked").textContent = question.text;
    const isByClick = question.choices.some((choice) => /^(broker|consumer)-/.test(choice));
    byId("lesson-how").textContent = !this.isAsking ? "" : this.lesson.leads && this.lesson.class ? "The pupils answer on their pages."
      : `${isByClick ? "Click what you mean in the cluster below, or choose" : "Choose"} here; the letters are keys.`;
    const { answered, given } = question;
    byId("lesson-choices").replaceChildren(...question.choices.map((choice, i) => {
      const look = answered && choice === answered.right ? "right" : answered && choice === given ? "wrong" : "";
      const sign = look === "right" ? "✓ " : look === "wrong" ? "✗ " : "";
      return element(
        "button",
        { type: "button", class: look, disabled: !this.mayAnswer, "aria-pressed": String(choice === given), "aria-keyshortcuts": CHOICE_LETTERS[i], onclick: () => this.answer(choice) },
        `${sign}${CHOICE_LETTERS[i]}) ${choice}`,
      );
    }));
  }

  drawAnswer(question, isEnd) {
    const box = byId("lesson-answer");
    const { lesson } = this;
    if (!question?.answered) {
      box.replaceChildren(question?.given && lesson.class ? `Your answer: ${question.given}. The teacher shows the right one.` : "");
      return;
    }
    const { right, because, rule, shown } = question.answered;
    const { given } = question;
    const verdict = given === null ? ["", `It is: ${right}`] : given === right ? ["good", `✓ Right: ${right}`] : ["bad", `✗ Not right. Your answer was ${given}; the right answer is: ${right}`];
    const places = shown.map((seq) => kcsim.run.placeOf(seq)).filter((place) => place !== null);
    box.replaceChildren(
      element("p", { class: verdict[0] }, verdict[1]),
      ...because.split(/\n\s*\n/).map((text) => element("p", {}, text)),
      rule ? element("p", { class: "muted" }, rule) : "",
      element("ol", { "aria-label": "What has happened" }, places.map((place) => element("li", {}, momentLink(kcsim.run.seqs[place], seconds(kcsim.run.times[place])), ` ${kcsim.run.node(place)} ${kcsim.run.says(place)}`))),
      isEnd && lesson.try_next.length ? element("p", {}, `That was it. Try next: ${lesson.try_next.join(" · ")}`) : "",
    );
  }

  drawSpread(question) {
    const spread = question?.spread;
    const most = spread ? Math.max(1, ...Object.values(spread)) : 1;
    byId("lesson-spread").replaceChildren(...(spread ? Object.entries(spread).flatMap(([choice, count]) => {
      const bar = element("span", {});
      bar.style.width = `${(100 * count) / most}%`;
      return [element("span", {}, choice), element("div", { class: "count", "aria-hidden": "true" }, bar), element("span", {}, plural(count, "answer"))];
    }) : []));
  }

  // --- what is answered

  get isAsking() {
    const { lesson } = this;
    const question = lesson?.pages[this.at].question;
    return Boolean(question) && this.at === lesson.place && !question.answered;
  }

  get mayAnswer() {
    return this.isAsking && !(this.lesson.leads && this.lesson.class);
  }

  answer(choice) {
    if (this.mayAnswer) this.send({ answer: choice });
  }

  /** Mark what can be clicked in the cluster as an answer. */
  markChoices() {
    const choices = this.mayAnswer ? this.lesson.pages[this.at].question.choices : [];
    for (const each of document.querySelectorAll("[data-broker], [data-consumer], tr[data-partition]")) {
      each.classList.toggle("choice", choices.includes(nameOf(each)));
    }
  }

  listen() {
    byId("lesson-question").addEventListener("submit", (event) => event.preventDefault());
    byId("lesson-back").addEventListener("click", () => this.turn(-1));
    byId("lesson-on").addEventListener("click", () => this.turn(1));
    for (const id of ["cluster", "partition-list"]) {
      new MutationObserver(() => this.lesson && this.markChoices()).observe(byId(id), { childList: true, subtree: true });
      byId(id).addEventListener("click", ({ target }) => {
        const clicked = target.closest(".choice");
        if (clicked) this.answer(nameOf(clicked));
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
      const choice = this.lesson?.pages[this.at].question?.choices[CHOICE_LETTERS.indexOf(event.key)];
      if (choice) this.answer(choice);
    });
  }

  turn(by) {
    if (by > 0 && this.at === this.lesson.place) {
      this.send({ on: true });
      return;
    }
    this.at = Math.min(Math.max(this.at + by, 0), this.lesson.place);
    this.draw();
    const { seq, question } = this.lesson.pages[this.at];
    kcsim.page.go(kcsim.run.placeFrom(question?.answered?.until ?? seq), false);
  }
}

const nameOf = ({ dataset }) => (dataset.broker === undefined ? dataset.consumer ?? dataset.partition : `${BROKER}${dataset.broker}`);

/** Return the name under which a pupil's answers are counted: of this tab, also after it was loaded anew. */
function pupilName() {
  const name = sessionStorage.getItem("pupil") ?? `pupil ${Array.from(crypto.getRandomValues(new Uint32Array(2))).join("-")}`;
  sessionStorage.setItem("pupil", name);
  return name;
}

const lesson = new Lesson();
