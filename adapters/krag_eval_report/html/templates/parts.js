// The folded parts of the page: a link into one opens it, and all are open in print. Works without the data.

function openPart(key) {
  const part = document.getElementById(key)?.closest("details");
  if (!part || part.open) return;
  part.open = true;
  part.scrollIntoView();
}

const openLinkedPart = () => openPart(decoded(location.hash.slice(1).split("?")[0]));

addEventListener("hashchange", openLinkedPart);
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.part")) part.open = true;
});
openLinkedPart();
