// Where the page starts.

const DARK = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null; // what this page was asked for; it stands in its address

const isDark = () => (document.documentElement.dataset.theme ?? (DARK.matches ? "dark" : "light")) === "dark";

function labelTheme() {
  put(byId("theme"), isDark() ? "theme-light" : "theme-dark");
}

function chooseTheme(theme) {
  chosenTheme = theme;
  document.documentElement.dataset.theme = theme;
  labelTheme();
}

function startTheme() {
  const theme = kept("theme");
  if (THEMES.includes(theme)) document.documentElement.dataset.theme = theme;
  byId("theme").addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    keep("theme", chosenTheme);
    if (readAddress().view === "queries") writeAddress();
  });
  DARK.addEventListener("change", labelTheme);
  labelTheme();
  byId("theme").hidden = false;
}

function startNotices() {
  const sides = overview.lacking.map((side) => `${side} documents`).join(" and ");
  byId("lacking").textContent = `The texts of the ${sides} are missing: only their ids are known.`;
  byId("lacking").hidden = !sides;
  byId("undefined").textContent = "No query has gold documents, so no metric is defined.";
  byId("undefined").hidden = overview.nGold.some((n) => n > 0);
}

startTheme();
startBoard();
startLanguage();
startNotices();
byId("browser").hidden = false;
startMeans();
startControls();
startList();
startLabels();
startQuery();
startKeys();
startAddress();
