
// Filter: a row is shown while it holds every word, has the candidate and is here for the reason.
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
  filters.querySelector("output").value = `${rows.filter((row) => !row.classList.contains("off")).length} of ${rows.length}`;
}

if (filters) {
  filters.hidden = false;
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
}
