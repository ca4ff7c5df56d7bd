
// Filter: a row, column, figure or part of a figure is shown while its data set and its method are both checked.
const filters = document.getElementById("filters");
const marked = document.querySelectorAll("main [data-dataset], main [data-method]");

function filter() {
  const off = { dataset: new Set(), method: new Set() };
  for (const box of filters.querySelectorAll("input")) if (!box.checked) off[box.name].add(box.value);
  for (const element of marked) {
    const { dataset, method } = element.dataset;
    element.classList.toggle("off", off.dataset.has(dataset) || off.method.has(method));
  }
}

filters.hidden = false;
filters.addEventListener("change", filter);
filters.addEventListener("click", ({ target }) => {
  const kind = target.dataset.all ?? target.dataset.none;
  if (kind === undefined) return;
  for (const box of filters.querySelectorAll("input")) if (box.name === kind) box.checked = "all" in target.dataset;
  filter();
});

// A link to a folded part opens it; printing opens all of them.
function reveal() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (part?.tagName === "DETAILS") part.open = true;
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => document.querySelectorAll("details.block").forEach((part) => { part.open = true; }));
reveal();
