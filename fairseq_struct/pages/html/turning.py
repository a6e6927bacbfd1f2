"""Style, controls and script of pages with many rows: paging, search, the next difference."""

STYLE = """
article { border-top: 1px solid var(--edge); padding: 0.6em 0 0.4em; scroll-margin-top: 4.5em; }
article:focus { outline: none; box-shadow: -4px 0 0 var(--mark); }
article h2 { font-size: 1em; font-weight: 600; margin: 0.2em 0 0.4em; overflow-wrap: anywhere; }
article h2 small { color: var(--faint); font-weight: 400; margin-right: 0.4em; }
.row { display: flex; flex-wrap: wrap; gap: 0 2.5em; align-items: end; }
.stacked { display: block; }
.stacked figure { display: grid; grid-template-columns: minmax(6em, 11em) minmax(0, 1fr);
  align-items: center; gap: 1em; }
.stacked figure > .wide:only-child { grid-column: 1 / -1; }
figure { margin: 0; max-width: 100%; }
figcaption { overflow-wrap: anywhere; font-size: 0.9em; }
.differ { color: #d9512c; font-weight: 600; white-space: nowrap; }
.wide { overflow-x: auto; max-width: 100%; }
.wide:focus-visible, #controls :focus-visible { outline: 2px solid var(--mark); }
#controls { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 0.5em;
  align-items: center; padding: 0.6em 0; background: var(--ground); }
#controls[hidden] { display: none; }
#controls button, #controls input { font: inherit; color: inherit; background: var(--raised);
  border: 1px solid var(--edge); border-radius: 6px; padding: 0.25em 0.7em; }
#controls button { cursor: pointer; } #controls button:disabled { opacity: 0.45; cursor: default; }
#controls input { min-width: 9em; flex: 0 1 16em; }
#told { color: var(--faint); }
kbd { font: 0.8em ui-monospace, monospace; color: var(--faint); margin-left: 0.3em; }
@media (max-width: 40em) {
  body { padding: 0.5em 0.8em 2em; }
  .stacked figure { display: block; margin-bottom: 0.6em; }
  #controls input { flex: 1 1 100%; } kbd { display: none; }
}
"""
# Without scripts there is nothing to control.
CONTROLS = """<div id="controls" role="toolbar" aria-label="Sentences" hidden>
<input id="search" type="search" placeholder="Search words" aria-label="Search words">
<button id="back" type="button" aria-label="Previous page" title="key ←">‹</button>
<button id="on" type="button" aria-label="Next page" title="key →">›</button>
<button id="next" type="button" title="key n">Next difference<kbd>n</kbd></button>
<span id="told" role="status" aria-live="polite"></span>
</div>
"""
SCRIPT = """<script>
"use strict";
(() => {
const part = name => document.getElementById(name);
const list = part("rows"), about = JSON.parse(part("about").textContent), many = SHOWN;
// Parts of as many rows as are shown at a time, which are read when they are needed.
const parts = [[...list.children].map(one => one.outerHTML)];
const later = document.querySelectorAll("script.later");
function drawn(place) {
  const part = Math.floor(place / many);
  parts[part] ??= JSON.parse(later[part - 1].textContent);
  return parts[part][place % many];
}
const words = about.map(([heading]) => heading.toLowerCase());
const all = about.map((_, place) => place);
const total = about.reduce((sum, [, count]) => sum + count, 0);
let found = all, page = 0, at = -1;  // at: place in found of the row in focus
const whole = number => number.toLocaleString("en");
function show(number) {
  page = Math.max(0, Math.min(number, Math.ceil(found.length / many) - 1));
  const first = page * many, rows = found.slice(first, first + many);
  list.innerHTML = rows.map(drawn).join("");
  part("back").disabled = page === 0;
  part("on").disabled = first + many >= found.length;
  part("next").disabled = !found.some(place => about[place][1]);
  const range = rows.length ? `${whole(first + 1)}–${whole(first + rows.length)} of ` : "";
  const differ = total ? `; ${whole(total)} differences in all` : "";
  part("told").textContent = range + whole(found.length) + differ;
}
function turn(by) { const before = page; show(page + by); if (page !== before) top_(); at = -1; }
function top_() { window.scrollTo(0, 0); }
function go(place) {
  if (place < 0 || place >= found.length) return;
  if (Math.floor(place / many) !== page) show(Math.floor(place / many));
  at = place;
  const row = list.children[place - page * many];
  row.focus({preventScroll: true});
  row.scrollIntoView({block: "start"});
}
function here() { return at < 0 ? page * many - 1 : at; }
function difference() {
  for (let step = 1; step <= found.length; step++) {
    const place = (here() + step) % found.length;
    if (about[found[place]][1]) { go(place); return; }
  }
}
function search() {
  const wanted = part("search").value.toLowerCase().trim();
  found = wanted ? all.filter(place => words[place].includes(wanted)) : all;
  at = -1;
  show(0);
}
part("search").addEventListener("input", search);
part("back").addEventListener("click", () => turn(-1));
part("on").addEventListener("click", () => turn(1));
part("next").addEventListener("click", difference);
list.addEventListener("focusin", event => {
  const row = event.target.closest("article");
  if (row) at = page * many + [...list.children].indexOf(row);
});
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input")) {
    if (event.key === "Escape") event.target.blur();
    if (event.key === "Enter") { event.target.blur(); go(0); }
    return;
  }
  const sideways = event.target.matches(".wide") && event.target.scrollWidth
    > event.target.clientWidth;  // there, the arrows scroll
  if (event.key === "n") difference();
  else if (event.key === "j") go(here() + 1);
  else if (event.key === "k") go(here() - 1);
  else if (event.key === "/") part("search").focus();
  else if (event.key === "ArrowRight" && !sideways) turn(1);
  else if (event.key === "ArrowLeft" && !sideways) turn(-1);
  else return;
  event.preventDefault();
});
if (!total) part("next").hidden = true;
part("controls").hidden = false;
show(0);
})();
</script>
"""
