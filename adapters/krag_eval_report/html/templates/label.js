// One document of a queue after the other. A key is sent, and the next document is shown when the label is written.

const { url } = JSON.parse(document.getElementById("krag-data-label").textContent);
const asked = new URLSearchParams(location.search);
const who = asked.get("who") ?? "";
const LABEL_KEYS = ["0", "1", "2", "u", "n"];
const PAUSE = 120;
const FASTEST = 1; // nobody reads faster: it is a script
const seconds = [];
let state = null;
let isBusy = true;
let since = null;

async function press(key) {
  if (isBusy && key !== null) return;
  isBusy = true;
  try {
    const body = { who: who || null, again: asked.has("again"), key, place: state?.place ?? null };
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
    state = await answer.json();
    note(key);
    show();
    byId("fault").textContent = "";
  } catch (error) {
    byId("fault").textContent = say("queue-fault", { why: error.message });
  }
  isBusy = false;
}

// How long a label took, without pauses.
function note(key) {
  const now = performance.now() / 1000;
  if ("012".includes(key ?? "x") && since !== null && now - since < PAUSE) seconds.push(now - since);
  since = now;
}

// How many labels an hour; null where that is not known yet.
function pace() {
  const middle = [...seconds].sort((a, b) => a - b)[Math.floor(seconds.length / 2)];
  return seconds.length < 5 || middle < FASTEST ? null : Math.round(360 / middle) * 10;
}

function progress() {
  const args = { n: Math.min(state.done + 1, state.total), of: state.total };
  const anHour = pace();
  return anHour === null ? say("queue-progress", args) : say("queue-progress-pace", { ...args, pace: anHour });
}

function show() {
  const pair = byId("pair");
  const isOver = state.place === null;
  byId("progress").textContent = progress();
  byId("file").textContent = state.file;
  if (isOver) pair.replaceChildren(make("h2", {}, say("queue-over", { n: state.done, of: state.total })), ...state.people.map((line) => make("p", {}, isolated(line))), state.disputed ? make("p", {}, make("a", { href: `?${new URLSearchParams({ who, again: "" })}` }, say("queue-again"))) : "");
  else {
    const text = state.text === null ? make("p", { class: "quiet" }, say("queue-no-text")) : prose("div", { class: "passage", tabindex: "0" }, state.text);
    const id = state.id === null ? null : make("p", { class: "id quiet" }, isolated(state.id));
    pair.replaceChildren(...[prose("h2", {}, state.question), text, id].filter((part) => part !== null));
  }
  pair.dataset.place = String(state.place);
  for (const one of byId("keys").children) one.disabled = isOver && one.dataset.key !== "u";
  byId("number").textContent = state.number?.text ?? "";
  byId("number").classList.toggle("reached", Boolean(state.number?.reached));
}

byId("keys").append(...LABEL_KEYS.map((key) => {
  const made = button(say(`queue-key-${key}`), () => press(key), { "data-key": key });
  made.prepend(make("kbd", {}, key.toUpperCase()), " ");
  return made;
}));
byId("who").value = who;
byId("who").addEventListener("change", ({ target }) => {
  location.search = target.value ? `?who=${encodeURIComponent(target.value)}` : "";
});
addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches?.("input")) return;
  if (!LABEL_KEYS.includes(key)) return;
  event.preventDefault();
  press(key);
});
press(null);
