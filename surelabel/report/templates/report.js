
// A link to a folded part opens it; printing opens all of them.
function reveal() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (part?.tagName === "DETAILS") part.open = true;
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => document.querySelectorAll("details.block").forEach((part) => { part.open = true; }));
reveal();
