"use strict";
// The acts on a broker, each with the step of the scenario language that does it and with the words for what it does.

const BROKER_ACTS = [
  ["Kill", (broker) => `kill: ${broker}`, ["running", "paused"], "the process dies at once; its session expires later"],
  ["Pause", (broker) => `pause: ${broker}`, ["running"], "the process stands still, as in a long garbage collection"],
  ["Resume", (broker) => `resume: ${broker}`, ["paused"], "the process goes on where it stood"],
  ["Stop", (broker) => `stop: ${broker}`, ["running"], "a controlled shutdown: leaders move away first"],
  ["Start", (broker) => `start: ${broker}`, ["dead", "stopped", "unknown"], "the process starts and registers"],
  ["Expire session", (broker) => `expire: ${broker}`, ["running", "paused"], "ZooKeeper ends the session, the process lives"],
  ["Disconnect", (broker) => `disconnect: ${broker}`, ["running", "paused"], "the connection to ZooKeeper is cut"],
  ["Reconnect", (broker) => `reconnect: ${broker}`, ["running", "paused"], "it may connect to ZooKeeper again"],
];
const COMMON_STEPS = [
  "kill: controller", "pause: controller", "resume: all", "start: all", "heal: all", "create-topic: orders", "delete-topic: orders",
  "rolling-restart: all", "elect-preferred: all", "zk-delete: /controller", "partition: [[broker-1], [broker-2]]",
];

/** Return the buttons of the acts on a broker; those that are not possible in its state are disabled. */
function actButtons(broker, state, act) {
  return BROKER_ACTS.map(([name, step, states, words]) => element(
    "button",
    { type: "button", title: `${step(broker)}: ${words}`, disabled: !states.includes(state), onclick: () => act(step(broker)) },
    name,
  ));
}
