// Where the page starts.

const DARK = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null; // what this page was asked for; it stands in its address

const isDark = () => (document.documentElement.dataset.theme ?? (DARK.matches ? "dark" : "light")) === "dark";

function labelTheme() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

function chooseTheme(theme) {
  chosenTheme = theme;
  document.documentElement.dataset.theme = theme;
  labelTheme();
}

function startTheme() {
  const kept = storedTheme();
  if (THEMES.includes(kept)) document.documentElement.dataset.theme = kept;
  byId("theme").addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    storeTheme(chosenTheme);
    if (readAddress().view === "queries") writeAddress();
  });
  DARK.addEventListener("change", labelTheme);
  labelTheme();
  byId("theme").hidden = false;
}

// A file may have no storage: then the choice lasts as long as the page.
function storedTheme() {
  try {
    return localStorage.getItem("krag-eval-theme");
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem("krag-eval-theme", theme);
  } catch {
    // the choice lasts as long as the page
  }
}

function startNotices() {
  const sides = overview.lacking.map((side) => `${side} documents`).join(" and ");
  byId("lacking").textContent = `The texts of the ${sides} are missing: only their ids are known.`;
  byId("lacking").hidden = !sides;
  byId("undefined").textContent = "No query has gold documents, so no metric is defined.";
  byId("undefined").hidden = overview.nGold.some((n) => n > 0);
}

startTheme();
startNotices();
byId("browser").hidden = false;
startMeans();
startControls();
startList();
startLabels();
startQuery();
startKeys();
startAddress();
