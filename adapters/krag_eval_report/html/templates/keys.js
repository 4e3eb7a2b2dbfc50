// The keys that work anywhere in the page, but not while something is typed.

const FIELDS = "input, select, textarea, [contenteditable]";

function startKeys() {
  byId("help").addEventListener("click", () => byId("keys-help").showModal());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.(FIELDS)) return;
    const action = byId("keys-help").open ? undefined : KEYS[event.key];
    if (action === undefined) return;
    event.preventDefault();
    if (event.key !== "?") showQueries();
    action();
  });
}

const KEYS = {
  "/": () => {
    if (opened !== null) return;
    byId("text").focus();
    byId("text").select();
  },
  "?": () => byId("keys-help").showModal(),
  j: () => step(1),
  k: () => step(-1),
  n: () => (opened === null ? openQuery(nextFailing(shown[active - 1])) : stepTo(nextFailing(opened))),
};

// To the next row of the list, or, where a query is open, to the next query.
function step(by) {
  if (opened === null) {
    moveTo(active + by);
    list.focus({ preventScroll: true });
    list.scrollIntoView({ block: "nearest" });
  } else if (shown.includes(opened)) stepTo(shown[shown.indexOf(opened) + by]);
}

// The first query below one in the list that misses gold documents in a shown system.
function nextFailing(query) {
  const isFailing = (one) => shownSystems().some((system) => causesOf(system, one).length > 0);
  return shown.slice(shown.indexOf(query) + 1).find(isFailing);
}
