// The switch of languages: the reader's choice is in the address, and kept for the next page.

let chosenLanguage = null; // what the reader or the address chose

// The first language of the reader that the page knows.
function languageOfReader() {
  const known = navigator.languages.map((code) => code.split("-")[0].toLowerCase());
  return known.find((code) => Object.hasOwn(messages, code)) ?? WRITTEN_IN;
}

function startLanguage() {
  const select = byId("language");
  const names = Object.keys(messages).map((code) => [code, bundleOf(code).getMessage("language-name").value]);
  options(select, names);
  for (const option of select.options) option.lang = option.value;
  const isChosen = "chosen" in document.documentElement.dataset; // by who wrote the page
  chooseLanguage(kept("language") ?? (isChosen ? WRITTEN_IN : languageOfReader()));
  select.value = language;
  onLanguage.push(() => {
    select.value = language;
  });
  select.addEventListener("change", () => {
    chosenLanguage = select.value;
    keep("language", chosenLanguage);
    chooseLanguage(chosenLanguage);
    if (readAddress().view === "queries") writeAddress();
  });
  select.hidden = false;
}
