"use strict";
// Each table can be copied (with tabs, for a spreadsheet) and kept as a file (CSV): exact values, not those that are shown.
function rowsOf(table) {
  return Array.from(table.rows, row => Array.from(row.cells, cell => cell.dataset.v ?? cell.textContent));
}
function csv(rows) {
  const quoted = text => /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  return rows.map(row => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}
function showResult(tools, text) {
  tools.querySelector("[role=status]").textContent = text;
}
async function copy(table, tools) {
  const text = rowsOf(table).map(row => row.map(cell => cell.replaceAll(/[\t\n\r]/g, " ")).join("\t")).join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page that was opened from disk may not be allowed to
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  showResult(tools, "copied");
}
function keep(table, tools) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(rowsOf(table))], {type: "text/csv"}));
  link.download = table.dataset.name + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  showResult(tools, "kept as " + link.download);
}
for (const tools of document.querySelectorAll(".tools")) {
  const table = document.getElementById(tools.dataset.table);
  for (const [name, act] of [["Copy", copy], ["Download CSV", keep]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-label", name + ": " + table.dataset.name);
    button.addEventListener("click", () => act(table, tools));
    tools.prepend(button);
  }
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = Array.from(document.querySelectorAll("details:not([open])"));
  for (const each of opened) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of opened) each.open = false;
});
globalThis.kcsim = {ready: Promise.resolve()};  // a program that drives the page waits for this
