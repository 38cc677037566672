"use strict";
// A cluster in real time: what is different on its page, and the simulated clusters that go on from its state.

const isLive = () => document.body.classList.contains("real-time");

class Live {
  /** Args: send: is called with what the server is asked for. */
  constructor(send) {
    this.send = send;
    if (!byId("live")) return;
    document.body.classList.add("real-time");
    byId("live-simulate").addEventListener("click", () => this.send({ simulate: true }));
  }

  show({ dropped, watched_only, gaps, is_beginning, simulated }) {
    byId("live-watched").textContent = watched_only ? `Watched only: ${watched_only}.` : "";
    byId("live-gaps").textContent = gaps.length ? `${gaps.join(". ")}.` : "";
    byId("live-dropped").textContent = dropped ? `This page begins with the state after the first ${plural(dropped, "event")}: of a cluster that is up for long, it has the latest ones.` : "";
    byId("live-beginning").textContent = is_beginning ? "The simulated cluster is brought into this state …" : "";
    if (this.simulated === String(simulated)) return; // a button that has the focus keeps it
    this.simulated = String(simulated);
    byId("live-simulated").replaceChildren(...simulated.map(([name, begun_ms]) => this.item(name, begun_ms)));
  }

  item(name, begun_ms) {
    const title = `Simulated cluster ${name.split("-").at(-1)}`;
    return element(
      "li",
      {},
      element("a", { href: `${name}/`, target: "_blank" }, title),
      element("span", { class: "muted" }, `in the state after ${seconds(begun_ms)}`),
      element("button", { type: "button", "aria-label": `End ${title}`, onclick: () => this.send({ end: name }) }, "End"),
    );
  }
}
