"use strict";
// The server of a cluster that goes on: what it sends is passed on, and what is done on the page is sent to it.

const RECONNECT_MS = 1000;

class Server {
  /** `take` is called with each message. */
  constructor(take) {
    this.take = take;
    this.isLost = false;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`${location.href.replace(/^http/, "ws").replace(/[#?].*/, "")}stream`);
    this.socket.addEventListener("message", ({ data }) => this.take(JSON.parse(data)));
    this.socket.addEventListener("close", () => {
      this.isLost = true;
      byId("connection").textContent = "The server does not answer; this is what was seen until now. Connecting again …";
      setTimeout(() => this.connect(), RECONNECT_MS);
    });
    this.socket.addEventListener("open", () => {
      this.isLost = false;
      byId("connection").textContent = "";
    });
  }

  send(wanted) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wanted));
  }
}
