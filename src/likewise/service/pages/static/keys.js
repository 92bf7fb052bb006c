// Single-letter keys: which letter does what, and whether letters do anything at all. Kept in the browser.
"use strict";
likewise.keys = (() => {
  const SHELF = "likewise keys";
  const form = likewise.element("keys"), problem = likewise.element("keys-problem");
  const own = Object.fromEntries([...form.querySelectorAll("input[data-key]")].map((input) => [input.name, input.dataset.key]));
  const kept = JSON.parse(localStorage.getItem(SHELF) || "{}");
  const now = { on: kept.on !== false, map: { ...own, ...kept.map } };

  // Every sign of a key on the page says what it is now, and goes where letters are switched off.
  function paint() {
    for (const sign of document.querySelectorAll("kbd[data-action]")) sign.textContent = now.map[sign.dataset.action];
    likewise.root.classList.toggle("no-keys", !now.on);
    form.elements.on.checked = now.on;
    for (const input of form.querySelectorAll("input[data-key]")) input.value = now.map[input.name];
  }

  function wrong(map) {
    const letters = Object.values(map);
    const odd = letters.find((letter) => [...letter].length !== 1 || /[\s0-9]/.test(letter));
    if (odd !== undefined) return `A key is one letter or sign, not “${odd}”. Digits select people.`;
    const twice = letters.find((letter, i) => letters.indexOf(letter) !== i);
    return twice === undefined ? "" : `“${twice}” can do only one thing.`;
  }

  function change() {
    const map = Object.fromEntries([...form.querySelectorAll("input[data-key]")].map((input) => [input.name, input.value.trim().toLowerCase()]));
    const trouble = wrong(map);
    problem.textContent = trouble;
    if (trouble) return;
    now.on = form.elements.on.checked;
    now.map = map;
    localStorage.setItem(SHELF, JSON.stringify(now));
    paint();
  }

  form.addEventListener("change", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  likewise.element("keys-reset").addEventListener("click", () => {
    Object.assign(now, { on: true, map: { ...own } });
    localStorage.removeItem(SHELF);
    problem.textContent = "";
    paint();
  });
  paint();
  return {
    on: () => now.on,
    action: (pressed) => (now.on ? Object.keys(now.map).find((name) => now.map[name] === pressed) : undefined),
    letter: (name) => now.map[name],
  };
})();
