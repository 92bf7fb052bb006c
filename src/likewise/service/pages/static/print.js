// Buttons that print the page; without script they stay hidden, and the browser's own menu prints.
"use strict";
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
