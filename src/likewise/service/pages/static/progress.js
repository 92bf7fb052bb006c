// A page that waits for work in the background asks for itself again, and shows what has changed.
"use strict";
(() => {
  const busy = () => document.querySelector("[data-busy]");
  async function look() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html"); // inert: nothing in it runs
      const there = page.querySelector("[data-busy]");
      if (answer.ok && !there) {
        // Not while somebody is typing into the page.
        if (!document.activeElement.closest("input, textarea, select")) { location.reload(); return; }
        busy().textContent = "Done. Load the page again to see it.";
        return;
      }
      if (there) busy().replaceWith(document.importNode(there, true));
    } catch {
      // No connection: the next look may have one.
    }
    setTimeout(look, 2000);
  }
  if (busy()) setTimeout(look, 1000);
})();
