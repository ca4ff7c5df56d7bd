"use strict";

// Press a heading to sort by its column, and again to reverse the order; missing values stay last.
function compare(a, b) {
  if (a === "" || b === "") return 0;
  const difference = Number(a) - Number(b);
  return Number.isNaN(difference) ? a.localeCompare(b, undefined, { numeric: true }) : difference;
}

function sort(heading) {
  const body = heading.closest("table").tBodies[0];
  const way = heading.ariaSort === "ascending" ? -1 : 1;
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
  const key = (row) => row.cells[heading.cellIndex].dataset.sort;
  const rows = [...body.rows].sort((a, b) => (key(a) === "") - (key(b) === "") || way * compare(key(a), key(b)));
  body.append(...rows);
}

// A heading is not a <button>: browsers do not repeat buttons on the next printed page.
for (const button of document.querySelectorAll("th [role=button]")) {
  button.addEventListener("click", () => sort(button.parentElement));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    sort(button.parentElement);
  });
}
