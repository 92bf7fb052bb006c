// On a narrow screen the tabs scroll: the open one must be visible.
"use strict";
(() => {
  const open = document.querySelector(".top nav [aria-current]");
  if (!open) return;
  const nav = open.closest("nav"), box = open.getBoundingClientRect(), all = nav.getBoundingClientRect();
  if (box.left < all.left || box.right > all.right) nav.scrollLeft += box.left - all.left - (all.width - box.width) / 2;
})();
