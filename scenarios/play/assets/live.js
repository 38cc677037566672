"use strict";
// A cluster in real time: what is different on its page.

const isLive = () => document.body.classList.contains("real-time");

class Live {
  /** Args: send: is called with what the server is asked for. */
  constructor(send) {
    this.send = send;
    if (byId("live")) document.body.classList.add("real-time");
  }

  show({ watched_only }) {
    byId("live-watched").textContent = watched_only ? `Watched only: ${watched_only}.` : "";
  }
}
