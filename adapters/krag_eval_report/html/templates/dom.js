// Elements are made of text nodes only: nothing that comes from a user is ever read as markup.

// The page's own ids begin with the same word, so that no section of a report has one of them.
const byId = (id) => document.getElementById(`krag-${id}`);

// make("p", { class: "quiet" }, "text", element): null children are left out.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A short text of a user within a line: it may run from right to left and leaves its surroundings alone.
const isolated = (text, attributes = {}) => make("bdi", attributes, String(text));

// A text of a user in a block of its own, in whichever direction and language it is. Korean breaks between words;
// Chinese and Japanese, which have none, anywhere.
const HAS_HANGUL = /[\uac00-\ud7a3]/;

function prose(tag, attributes, ...children) {
  const made = make(tag, { dir: "auto", lang: "", ...attributes }, ...children);
  made.classList.toggle("hangul", HAS_HANGUL.test(made.textContent));
  return made;
}

function button(label, onClick, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", onClick);
  return made;
}

function options(select, pairs) {
  select.replaceChildren(...pairs.map(([value, label]) => make("option", { value }, label)));
}

const plural = (n, one, many) => `${counted(n)} ${n === 1 ? one : many}`;

// What is kept from page to page. A file may have no storage: then a choice lasts as long as the page.
function kept(name) {
  try {
    return localStorage.getItem(`krag-eval-${name}`);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`krag-eval-${name}`, value);
  } catch {
    // the choice lasts as long as the page
  }
}

// Whether a text is in the clipboard now.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // a file may not be allowed to, or the reader said no
  }
}
