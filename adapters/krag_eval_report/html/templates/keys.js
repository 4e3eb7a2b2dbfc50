// The keys that work anywhere in the page, but not while something is typed.

const FIELDS = "input, select, textarea, [contenteditable]";

function startKeys() {
  byId("help").addEventListener("click", () => byId("keys-help").showModal());
  byId("text").addEventListener("keydown", leaveSearch);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.(FIELDS)) return;
    const keys = opened === null ? KEYS : { ...KEYS, ...KEYS_OF_QUESTION };
    const action = byId("keys-help").open ? undefined : keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    if (!["?", "Enter"].includes(event.key) && opened === null) showQueries();
    if (action(event) !== false) event.preventDefault();
  });
}

const KEYS = {
  "/": () => {
    if (opened !== null) return;
    byId("text").focus();
    byId("text").select();
  },
  "?": () => byId("keys-help").showModal(),
  Enter: ({ target }) => (opened === null && target === document.body && document.documentElement.dataset.view === "queries" ? openQuery(shown[active]) : false),
  j: () => step(1),
  k: () => step(-1),
  n: () => (opened === null ? openQuery(nextFailing(shown[active - 1])) : stepTo(nextFailing(opened))),
};

// Escape empties the search; in an empty one it leads to the list, as Enter does.
function leaveSearch(event) {
  if (event.key === "Escape" && byId("text").value !== "") {
    event.preventDefault();
    byId("text").value = "";
    byId("text").dispatchEvent(new Event("input", { bubbles: true }));
  } else if (event.key === "Escape" || event.key === "Enter") {
    event.preventDefault();
    list.focus({ preventScroll: true });
  }
}

// To the next row of the list, or, where a question is open, to the next question.
function step(by) {
  if (opened === null) {
    moveTo(active + by);
    list.focus({ preventScroll: true });
    list.scrollIntoView({ block: "nearest" });
  } else if (shown.includes(opened)) stepTo(shown[shown.indexOf(opened) + by]);
}

// The first query below one in the list that misses gold documents in a run that is shown, or that filters are about.
function nextFailing(query) {
  const systems = state.in === null ? shownSystems() : [state.in];
  const isFailing = (one) => systems.some((system) => causesOf(system, one).length > 0);
  return shown.slice(shown.indexOf(query) + 1).find(isFailing);
}
