"use strict";
// The losses in another order. Those that are as bad as each other stay in the order of the ranking.
const sort = document.getElementById("sort");
if (sort !== null) {
  const list = document.querySelector(".losses");
  const select = sort.querySelector("select");
  const number = (item, key) => Number(item.dataset[key]);
  select.addEventListener("change", () => {
    const key = select.value;
    const greatestFirst = key === "rank" ? -1 : 1;
    list.append(...Array.from(list.children).sort(
      (one, other) => greatestFirst * (number(other, key) - number(one, key)) || number(one, "rank") - number(other, "rank")));
    sort.querySelector("[role=status]").textContent = "sorted by " + select.selectedOptions[0].textContent;
  });
  sort.hidden = false;
}
