// A document's text: the words that it shares marked, and a long one shortened. Where spans were matched, `shared` has
// the parts that chunks and gold spans share, which are marked instead.

const SHORT = 2000;
const PIECE = 20_000;

function textBlock(text, known, shared = null) {
  if (text === null) return make("p", { class: "quiet" }, say("no-text"));
  if (text.length <= SHORT) return prose("div", { class: "text" }, painted(text, 0, known, shared));
  const start = painted(text.slice(0, wholeCharacters(text, SHORT)), 0, known, shared);
  const block = prose("div", { class: "text" }, start, make("span", { class: "quiet" }, " \u2026"));
  const more = button(say("show-all-characters", { n: text.length }), () => {
    more.remove();
    showAll(block, text, known, shared);
  }, { class: "more" });
  return make("div", {}, block, more);
}

// A piece of a text that begins at `start`: shared parts are underlined, and in a gold span what was missed with a wave.
function painted(piece, start, known, shared) {
  if (shared === null || shared.parts === null) return marked(piece, known);
  const made = document.createDocumentFragment();
  const rest = (from, to) => from < to && made.append(shared.isGold ? make("span", { class: "missed" }, piece.slice(from, to)) : piece.slice(from, to));
  let at = 0;
  for (const [first, last] of shared.parts) {
    const from = Math.max(first - start, at);
    const to = Math.min(last - start, piece.length);
    if (from >= to) continue;
    rest(at, from);
    made.append(make("mark", { class: "held" }, piece.slice(from, to)));
    at = to;
  }
  rest(at, piece.length);
  return made;
}

// Pieces of a long text follow each other frame by frame; the browser lays out those that are seen.
function showAll(block, text, known, shared) {
  block.replaceChildren();
  block.classList.add("long");
  let start = 0;
  const next = () => {
    for (let i = 0; i < 5 && start < text.length; i += 1) {
      const end = pieceEnd(text, start);
      block.append(prose("div", { class: "piece" }, painted(text.slice(start, end), start, known, shared)));
      start = end;
    }
    const isBusy = start < text.length && block.isConnected;
    block.setAttribute("aria-busy", String(isBusy));
    if (isBusy) requestAnimationFrame(next);
  };
  next();
}

// Cut between lines or words where there are any.
function pieceEnd(text, start) {
  const end = start + PIECE;
  if (end >= text.length) return text.length;
  const piece = text.slice(start, end);
  const cut = Math.max(piece.lastIndexOf("\n"), PIECE / 2 < piece.lastIndexOf(" ") ? piece.lastIndexOf(" ") : -1);
  return cut > 0 ? start + cut + 1 : wholeCharacters(text, end);
}

// The offset, or the one before where it would cut a character in two.
function wholeCharacters(text, offset) {
  const code = text.charCodeAt(offset);
  return code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset;
}

function documentOf(number) {
  const { id, text, metadata } = details().documents;
  return {
    about: metadata[number] === NONE ? null : details().metadata[metadata[number]],
    id: id[number] === NONE ? null : details().ids[id[number]],
    text: textOf(text[number]),
    // The same document in two rankings: by its id, else by its text.
    key: id[number] === NONE ? `text ${text[number]}` : `id ${id[number]}`,
  };
}

const documentId = ({ id }) => (id === null ? null : isolated(id, { class: "id" }));

// What is known of a document or a question beside its text, as lines of `name: value`.
function aboutBlock(about) {
  if (about === null || about === undefined) return null;
  const lines = about.split("\n");
  const rows = lines.map((line) => {
    const [name, value] = line.split(/: (.*)/s);
    return make("div", {}, make("dt", {}, isolated(name)), make("dd", { dir: "auto" }, value ?? ""));
  });
  const first = about.length > 90 ? `${about.slice(0, wholeCharacters(about, 90))}\u2026` : about;
  return make("details", { class: "about" }, make("summary", { class: "quiet" }, isolated(first.replaceAll("\n", "; "))), make("dl", {}, ...rows));
}
