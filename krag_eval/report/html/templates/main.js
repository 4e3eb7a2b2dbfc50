// Where the page starts.

function startTheme() {
  const root = document.documentElement;
  const toggle = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const label = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
  };
  const kept = storedTheme();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storeTheme(root.dataset.theme);
    label();
  });
  dark.addEventListener("change", label);
  label();
  toggle.hidden = false;
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
startControls();
startList();
startLabels();
startQuery();
