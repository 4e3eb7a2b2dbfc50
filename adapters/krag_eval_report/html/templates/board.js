// The leaderboard: a click or a key on a heading sorts it. Without this script the best run comes first.

const board = byId("board");

function startBoard() {
  if (board === null) return;
  const heads = Array.from(board.querySelectorAll("th[data-sort]"));
  for (const head of heads) {
    const sorter = make("button", { type: "button", class: "sort" }, ...head.childNodes);
    sorter.addEventListener("click", () => sortBoard(heads, head));
    head.append(sorter);
    head.setAttribute("aria-sort", "none");
  }
}

// Numbers from the largest on at first, names from A on, then the other way; a row without a value comes last.
function sortBoard(heads, head) {
  const isNumber = head.dataset.sort === "number";
  const was = head.getAttribute("aria-sort");
  const isDescending = was === "none" ? isNumber : was === "ascending";
  for (const other of heads) other.setAttribute("aria-sort", other === head ? (isDescending ? "descending" : "ascending") : "none");
  const place = Array.from(head.parentNode.children).indexOf(head);
  const value = (row) => row.children[place].dataset.value ?? "";
  const isLater = (a, b) => (isNumber ? Number(a) - Number(b) : a.localeCompare(b, language));
  const rows = Array.from(board.tBodies[0].rows).sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if ((a === "") !== (b === "")) return a === "" ? 1 : -1;
    return (a === "" ? 0 : isDescending ? isLater(b, a) : isLater(a, b)) || one.dataset.place - other.dataset.place;
  });
  board.tBodies[0].append(...rows);
}
