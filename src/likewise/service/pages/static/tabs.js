// On a narrow screen the tabs scroll: the one that is open shall be in sight.
"use strict";
(() => {
  const open = document.querySelector(".top nav [aria-current]");
  if (!open) return;
  const nav = open.closest("nav"), here = open.getBoundingClientRect(), all = nav.getBoundingClientRect();
  if (here.left < all.left || here.right > all.right) nav.scrollLeft += here.left - all.left - (all.width - here.width) / 2;
})();
