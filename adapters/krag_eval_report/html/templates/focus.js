// The document that the keys of an open question are about: up and down move from one to the next, digits label it.

const cardsOf = (column) => Array.from(column.querySelectorAll(".card"));
const cardColumns = () => Array.from(dialog.querySelectorAll(".column")).filter((column) => column.querySelector(".card") !== null);

function focusCard(card) {
  if (!card) return;
  for (const other of dialog.querySelectorAll(".card.active")) if (other !== card) other.classList.remove("active");
  card.classList.add("active");
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}

// The card that has the focus; at first the first one that was retrieved by the run that is compared.
const activeCard = () => dialog.querySelector(".card.active");

function moveFocus(by) {
  const now = activeCard();
  if (now === null) {
    focusCard(cardsOf(cardColumns().at(-1) ?? dialog)[0]);
    return;
  }
  const cards = cardsOf(now.closest(".column"));
  focusCard(cards[cards.indexOf(now) + by]);
}

// A digit presses the button of its label, if the document can be labelled so.
function labelActive(digit) {
  const pressed = activeCard()?.querySelector(`.labels [data-key="${digit}"]`);
  pressed?.click();
  return pressed !== null && pressed !== undefined;
}

const KEYS_OF_QUESTION = {
  ArrowDown: (event) => event.target.matches(".text.long") ? false : moveFocus(1),
  ArrowUp: (event) => event.target.matches(".text.long") ? false : moveFocus(-1),
  u: () => undoLabel(),
  ...Object.fromEntries(Array.from("0123456789", (digit) => [digit, () => labelActive(digit)])),
};

function startFocus() {
  dialog.addEventListener("click", ({ target }) => {
    const card = target.closest(".card");
    if (card === null || String(getSelection())) return;
    const pressed = target.closest("button, summary, a, textarea");
    focusCard(card);
    pressed?.focus({ preventScroll: true });
  });
  dialog.addEventListener("focusin", ({ target }) => {
    const card = target.closest?.(".card");
    if (card && card !== activeCard()) {
      for (const other of dialog.querySelectorAll(".card.active")) other.classList.remove("active");
      card.classList.add("active");
    }
  });
}
