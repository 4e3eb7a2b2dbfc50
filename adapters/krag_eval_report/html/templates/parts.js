// The views of the page, of which one is seen at a time: without this script all stand one below another. The folded parts
// of the details: a link into one opens it, and all are open in print. Works without the data.

const VIEWS = ["overview", "queries", "details"];
const tabs = document.querySelectorAll(".tabs a");

// The view that an address asks for: its own, the one that a section stands in, or the first.
function viewOf(hash) {
  const name = decoded(hash.slice(1).split("?")[0]);
  if (/^[qn]=/.test(name)) return "queries";
  return document.getElementById(name)?.closest(".view")?.id ?? VIEWS[0];
}

function showView(view) {
  document.documentElement.dataset.view = view;
  for (const tab of tabs) {
    if (tab.hash === `#${view}`) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

// To the questions as they are filtered, which the address says from now on.
function showQueries() {
  if (document.documentElement.dataset.view === "queries") return;
  history.pushState(null, "", "#queries");
  writeAddress();
  showView("queries");
  scrollTo(0, 0);
}

function openPart(key) {
  const part = document.getElementById(key)?.closest("details.part");
  if (!part || part.open) return;
  part.open = true;
  part.scrollIntoView();
}

function followAddress() {
  const view = viewOf(location.hash);
  const isOther = document.documentElement.dataset.view !== view;
  showView(view);
  if (isOther && location.hash.length > 1) document.getElementById(decoded(location.hash.slice(1).split("?")[0]))?.scrollIntoView();
  openPart(decoded(location.hash.slice(1).split("?")[0]));
}

for (const link of [...tabs, byId("find")]) {
  if (link.hash !== "#queries") continue;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    showQueries();
    if (link === byId("find")) byId("text").focus();
  });
}
addEventListener("hashchange", followAddress);
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.part, #overview details")) part.open = true;
});
byId("find").hidden = false;
followAddress();
