
// The review page: it shows a row, a key answers it, and the reply of the server brings the next one.
const part = (id) => document.getElementById(id);
const client = sessionStorage.client || (sessionStorage.client = crypto.getRandomValues(new Uint32Array(2)).join("-"));
const CELLS = 14;  // columns that are shown at once
let shown = null, waiting = false;

async function ask(action, said = {}) {
  const reply = await fetch(action, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ client, ...said }),
  });
  if (!reply.ok && reply.status !== 409) throw new Error(await reply.text());
  return reply.json();
}

function say(text) {
  part("message").textContent = text;
  part("message").hidden = !text;
}

async function act(action, said) {
  if (waiting) return;
  const start = performance.now();
  waiting = true;
  document.body.classList.add("waiting");
  try {
    const found = await ask(action, said);
    say(found.error || "");
    if ("row" in found) show(found.row);
    if (found.progress) tell(found.progress);
    if (found.error && action === "answer" && /here is another one/.test(found.error)) setTimeout(() => act("next"), 0);
    document.body.dataset.milliseconds = Math.round(performance.now() - start);
    return found;
  } catch (error) {
    say("The answer was not saved: is surelabel review still running? Start it again and open its new address. (" + error.message + ")");
  } finally {
    waiting = false;
    document.body.classList.remove("waiting");
  }
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

function draw(tag, values) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
  return element;
}

const percent = (share) => (share > 0 && share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)) + " %";

const whole = (share) => (share || "<1") + " %";  // percentages that add up

function show(row) {
  shown = row;
  part("row").hidden = false;
  part("answer").hidden = part("queue").hidden = !row;
  part("done").hidden = !!row;
  part("note").value = part("label").value = "";
  part("name").textContent = row ? row.name : "All done";
  for (const id of ["why", "cells", "rest", "choices", "votes", "neighbours"]) part(id).replaceChildren();
  part("beside").hidden = part("more").hidden = true;
  if (!row) return;
  part("queue").textContent = row.queue;
  part("queue").className = "chip " + row.queue;
  part("why").append(...row.why.map((text) => make("li", text)));
  row.cells.slice(0, CELLS).forEach((cell) => showCell(cell, part("cells")));
  part("more").hidden = row.cells.length <= CELLS;
  showMore();
  row.choices.forEach((choice, place) => part("choices").append(button(choice, place)));
  part("another").textContent = row.another === null ? "" : whole(row.another);
  const hidden = row.queue === "check";
  part("reveal").hidden = !hidden;
  reveal(!hidden);
  part("votes").hidden = !row.votes.length;
  part("votes").append(...row.votes.map((vote) => make("li", vote.who + ": " + vote.label, "chip")));
  part("beside").hidden = !row.neighbours.length;
  part("neighbours").append(...row.neighbours.map(neighbour));
  part("spoken").textContent = "Next row, " + row.queue + ": " + row.name + ". " + row.choices.map((choice, place) => (place + 1) + " " + choice.label).join(", ");
  if (matchMedia("(max-width: 50rem)").matches) scrollTo({ top: part("row").offsetTop - 8 });
}

function showMore() {
  if (shown && part("more").open && !part("rest").hasChildNodes()) shown.cells.slice(CELLS).forEach((cell) => showCell(cell, part("rest")));
}

function showCell(cell, where) {
  const name = make("dt", cell.name), value = make("dd");
  if (cell.kind === "image") {
    if (cell.image) {
      const image = make("img");
      image.src = cell.image;
      image.alt = "image of the row";
      value.append(image);
    } else value.append(make("small", "image cannot be shown"));
    value.className = "long";
    where.append(value);
    return;
  }
  if (cell.kind === "text" || cell.text.length > 80) name.className = value.className = "long";
  if (cell.bars) {
    const figure = draw("svg", { viewBox: "0 0 96 20", preserveAspectRatio: "none", role: "img", "aria-label": "at " + percent(cell.place) + " of the range of the column" });
    figure.append(draw("path", { d: cell.bars.map((height, i) => `M${4 * i} 20v${-20 * height}h3.4v${20 * height}z`).join("") }));
    const x = 1 + 94 * cell.place;
    figure.append(draw("line", { x1: x, x2: x, y1: 0, y2: 20 }));
    value.className = "number";
    value.append(make("span", cell.text), figure);
  } else value.textContent = cell.text === "" ? "–" : cell.text;
  where.append(name, value);
}

function button(choice, place) {
  const element = make("button", undefined, choice.candidate ? "" : "beyond");
  if (place < 9) {
    element.append(make("kbd", place + 1));
    element.setAttribute("aria-keyshortcuts", place + 1);
  }
  element.append(make("span", choice.label, "what"));
  const fill = make("i", undefined, "fill"), share = make("span", whole(choice.percent), "percent");
  fill.style.width = choice.percent + "%";
  element.append(share, fill);
  if (!choice.candidate) element.title = "not among the candidates";
  element.addEventListener("click", () => answer("label", choice.label));
  return element;
}

function neighbour(other) {
  const item = make("li"), text = make("span");
  if (other.image) {
    const image = make("img");
    image.src = other.image;
    image.alt = "";
    item.append(image);
  }
  text.append(make("strong", other.label), " ", make("small", [other.name, other.text].filter(Boolean).join(" · ")));
  item.append(text);
  return item;
}

function reveal(visible) {
  for (const element of document.querySelectorAll("#choices .fill, #answer .percent")) element.hidden = !visible;
  part("hint").textContent = visible ? "Press a number, or choose." : "A check: what the model says is hidden, so that it does not influence you.";
}

function tell(progress) {
  const facts = [
    [progress.answers, progress.answers === 1 ? "answer" : "answers"],
    [progress.settled + " of " + progress.rows, "rows settled"],
    [progress.certified, "certified"],
    [progress.look, "to look at"],
  ];
  if (progress.rate) facts.push([progress.rate.toFixed(0), "answers a minute"]);
  part("summary").replaceChildren(...facts.map(([number, what]) => {
    const fact = make("span");
    fact.append(make("strong", number), " " + what);
    return fact;
  }));
  part("bar-certified").style.flexGrow = progress.certified;
  part("bar-probable").style.flexGrow = progress.settled - progress.certified;
  part("bar-look").style.flexGrow = progress.look;
  part("audit").textContent = progress.audit || "Nothing is checked yet: labels are kept by the model’s own estimate.";
  part("worth").replaceChildren(...progress.worth.map((text) => make("li", text)));
  part("share").value = progress.share;
  part("share").setAttribute("aria-valuetext", percent(progress.share) + " checks");
  part("could-draw").textContent = progress.could_draw + " rows would be kept now" + (progress.draw ? "; " + progress.draw + " were drawn" : "");
  part("labels").replaceChildren(...progress.labels.map((label) => {
    const option = make("option");
    option.value = label;
    return option;
  }));
  part("remarks").replaceChildren(...progress.remarks.map((text) => make("li", text)));
  showCurve(progress.curve);
}

function showCurve(points) {
  const last = Math.max(points[points.length - 1][0], 1), figure = part("curve");
  const x = (n) => 40 + (350 * n) / last, y = (share) => 140 - 128 * share;
  figure.replaceChildren();
  for (const share of [0, 0.5, 1]) {
    figure.append(draw("line", { class: "axis", x1: 40, x2: 390, y1: y(share), y2: y(share) }));
    const text = draw("text", { x: 35, y: y(share) + 4, "text-anchor": "end" });
    text.textContent = 100 * share + "%";
    figure.append(text);
  }
  const end = draw("text", { x: 390, y: 156, "text-anchor": "end" });
  end.textContent = last + (last === 1 ? " answer" : " answers");
  figure.append(end);
  [["settled", 1], ["wrong", 2]].forEach(([name, place]) => {
    const known = points.filter((point) => point[place] !== null);
    if (known.length) figure.append(draw("polyline", { class: name, points: known.map((point) => x(point[0]) + "," + y(point[place])).join(" ") }));
  });
}

function answer(verdict, label = "", more = {}) {
  if (shown) act("answer", { ticket: shown.ticket, verdict, label, note: part("note").value, who: part("who").value, ...more });
}

part("other").addEventListener("submit", (event) => {
  event.preventDefault();
  const label = part("label").value;
  part("label").blur();
  answer("label", label, { new: !!part("new")?.checked });
});
for (const element of document.querySelectorAll("[data-verdict]")) element.addEventListener("click", () => answer(element.dataset.verdict));
part("undo").addEventListener("click", () => act("undo"));
part("more").addEventListener("toggle", showMore);
part("reveal").addEventListener("click", () => reveal(true));
part("share").addEventListener("change", () => act("share", { share: Number(part("share").value) }));
part("draw").addEventListener("click", () => act("draw").then(() => shown || act("next")));
part("who").value = localStorage.who || "";
part("who").addEventListener("change", () => { localStorage.who = part("who").value; });
part("finish")?.addEventListener("click", async () => {
  part("written").textContent = "writing …";
  const found = await act("finish");
  part("written").textContent = found?.written ? "written: " + found.written.join(", ") : "";
});

const keys = {
  a: () => part("label").focus(), m: () => part("note").focus(), n: () => answer("none"), c: () => answer("unknown"),
  s: () => answer("skip"), u: () => act("undo"), v: () => reveal(true),
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const field = event.target.closest("input, textarea");
  if (event.key === "Escape" && field) return field.blur();
  if (field && field.type !== "range" && field.type !== "checkbox") return;
  const place = Number(event.key) - 1;
  if (place >= 0 && shown && place < Math.min(9, shown.choices.length)) answer("label", shown.choices[place].label);
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});
// Show what the model has learned while the person reads.
setInterval(() => {
  if (!waiting && !document.hidden) ask("progress").then((found) => found.progress && !waiting && tell(found.progress)).catch(() => {});
}, 3000);
act("next");
