"use strict";
// Predict mode: before a fault, the page asks what will come of it; the run answers, and the page keeps the score.

const PREDICTED_VERBS = ["kill", "pause", "stop", "expire", "disconnect", "fail-log-dir", "zk-delete"];
const NOBODY = "nobody";

class Predictions {
  constructor() {
    this.isOn = false;
    this.made = []; // {question, choices, given, step, from, about: {kind, partition}, answer, rule}
    byId("predict").addEventListener("click", () => {
      this.isOn = !this.isOn;
      byId("predict").setAttribute("aria-pressed", String(this.isOn));
    });
  }

  /** Return what a step makes uncertain: a question with its choices; null if the page asks nothing about it. */
  questionAbout(step, now) {
    const target = /^[a-z-]+: *([^\s,]+)$/.exec(step.split("\n")[0])?.[1];
    if (!this.isOn || target === undefined || !PREDICTED_VERBS.includes(verbOf(step))) return null;
    const broker = target === "controller" || target === "/controller" ? now.controller : target;
    if (broker === null || !now.brokers.includes(broker)) return null;
    const led = now.led(broker).sort(byName);
    if (broker === now.controller) return { question: "Who will be the controller next?", choices: [...now.brokers, NOBODY], about: { kind: "ElectionWon" } };
    if (!led.length || target === "/controller") return null;
    const replicas = now.partition(led[0])[0].map((id) => `${BROKER}${id}`).sort(byName);
    return { question: `Who will lead ${led[0]} next?`, choices: [...replicas, NOBODY], about: { kind: "LeaderElection", partition: led[0] } };
  }

  /** Note a prediction. Args: step: of the act that it is about; from: how many acts there were before. */
  add(asked, given, step, from) {
    this.made.push({ ...asked, given, step, from, answer: null, rule: "" });
  }

  forget() {
    this.made = [];
  }

  /** Look for the answers among what has followed from the acts, and show all predictions. */
  grow(run, consequences, acts) {
    for (const each of this.made.filter(({ answer }) => answer === null)) {
      const act = acts.findIndex(([, step], i) => i >= each.from && step === each.step);
      const place = [...(consequences.found[act]?.places ?? [])].find((at) => isAbout(run, at, each.about));
      if (place === undefined) continue;
      const leader = run.value(place, "leader");
      each.answer = each.about.kind === "ElectionWon" ? run.node(place) : leader === undefined ? NOBODY : `${BROKER}${leader}`;
      each.rule = [run.value(place, "rule"), run.value(place, "inputs")].filter(Boolean).join("; it looked at: ");
    }
    this.show();
  }

  show() {
    const known = this.made.filter(({ answer }) => answer !== null);
    const right = known.filter(({ given, answer }) => given === answer).length;
    byId("predict-score").textContent = this.made.length ? `${right} of ${known.length} right` : "";
    const last = this.made.at(-1);
    if (!last) {
      byId("predicted").textContent = "";
      return;
    }
    const rule = last.rule ? ` Rule: ${last.rule}.` : "";
    const verdict = last.answer === null ? "the run has not answered yet." : last.answer === last.given ? `✓ right: ${last.answer}.` : `✗ not right: ${last.answer}.`;
    byId("predicted").textContent = `${last.question} Your answer was ${last.given}; ${verdict}${rule}`;
  }
}

function isAbout(run, place, { kind, partition }) {
  return run.kind(place) === kind && (partition === undefined || partition === `${run.value(place, "topic")}-${run.value(place, "partition")}`);
}
