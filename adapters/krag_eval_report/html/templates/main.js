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

const LACKING = { gold: "texts-missing-gold", retrieved: "texts-missing-retrieved" };

function startNotices() {
  const { lacking } = overview;
  if (lacking.length) put(byId("lacking"), lacking.length > 1 ? "texts-missing-all" : LACKING[lacking[0]]);
  byId("lacking").hidden = !lacking.length;
  put(byId("undefined"), "no-metric-defined");
  byId("undefined").hidden = overview.nGold.some((n) => n > 0);
}

startTheme();
startBoard();
startLanguage();
startNotices();
byId("browser").hidden = false;
startMeans();
startLabels();
startControls();
startList();
startQuery();
startExport();
startKeys();
startAddress();
readAhead();
