
// Filter: show the rows that hold every word, have the candidate, and have the reason.
const filters = document.getElementById("filters");

function filter() {
  const { words, label, reason } = Object.fromEntries(new FormData(filters));
  const wanted = words.toLowerCase().split(/\s+/);
  const rows = [...document.querySelectorAll("#rows tbody tr")];
  const has = (row, selector, read, value) => value === "" || [...row.querySelectorAll(selector)].some((part) => read(part) === value);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const on =
      wanted.every((word) => text.includes(word)) &&
      has(row, ".chip", (chip) => chip.dataset.label, label) &&
      has(row, ".word", (word) => word.textContent, reason);
    row.classList.toggle("off", !on);
  }
  const found = rows.filter((row) => !row.classList.contains("off"));
  filters.querySelector("output").value = `${found.length} of ${rows.length}`;
  page();
}

// Show some rows at a time, in their current order; on a phone each takes a screen.
const more = document.getElementById("more");
const step = matchMedia("(max-width: 40rem)").matches ? 10 : 20;
let shown = step;

function page() {
  const found = [...document.querySelectorAll("#rows tbody tr:not(.off)")];
  found.forEach((row, place) => row.classList.toggle("later", place >= shown));
  more.hidden = found.length <= shown;
  more.textContent = `Show more rows (${Math.max(0, found.length - shown)} left)`;
}

// A link to a row, such as from the map, shows all rows up to it.
function reveal() {
  const found = [...document.querySelectorAll("#rows tbody tr:not(.off)")];
  const place = found.findIndex((row) => `#${row.id}` === location.hash);
  if (place >= shown) {
    shown = place + 1;
    page();
    found[place].scrollIntoView();
  }
}

if (filters) {
  filters.hidden = false;
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    shown += step;
    page();
  });
  document.querySelector("#rows thead").addEventListener("click", () => setTimeout(page));
  document.querySelector("#rows thead").addEventListener("keydown", () => setTimeout(page));
  addEventListener("hashchange", reveal);
  page();
  reveal();
}
