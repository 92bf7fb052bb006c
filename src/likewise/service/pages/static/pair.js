// The chosen pair: who is marked in the round, and how the two differ.
"use strict";
likewise.pair = (() => {
  const { root, element: $ } = likewise;
  const level = Number(root.dataset.level);
  const touch = matchMedia("(hover: none) and (pointer: coarse)").matches; // no keys to speak of
  const probability = (row) => Number(row.dataset.probability);
  const rows = (article) => (article ? [...article.querySelectorAll("tbody tr")] : []);
  // Where reviewers see decisions, the server says which pairs can be reported, and no probability is here at all.
  const listed = (article) => article && article.dataset.pairs !== undefined;
  const gap = (x, y) => Math.abs(probability(x) - probability(y));
  const ordered = (chosen) => [...chosen].sort((x, y) => Number(x.dataset.number) - Number(y.dataset.number));
  // One digit more where two wouldn't tell the gap from what is allowed.
  const gapInWords = (x, y) => `${gap(x, y).toFixed(Math.abs(gap(x, y) - level) < 0.005 ? 3 : 2)} apart`;

  function together(article, x, y) {
    if (!listed(article)) return gap(x, y) > level;
    const pairs = article.dataset.pairs.trim().split(" "), [a, b] = [x.dataset.number, y.dataset.number];
    return pairs.includes(`${a}-${b}`) || pairs.includes(`${b}-${a}`);
  }
  const reportable = (article, chosen) => chosen.length === 2 && together(article, ...chosen);

  function mark(article, chosen) {
    const near = (row) => !chosen.includes(row) && chosen.length === 1 && !together(article, row, chosen[0]);
    for (const row of rows(article)) {
      row.classList.toggle("chosen", chosen.includes(row));
      row.classList.toggle("near", near(row));
      row.querySelector("button").setAttribute("aria-pressed", chosen.includes(row));
      row.querySelector(".close").hidden = !near(row);
    }
    for (const dot of article ? article.querySelectorAll(".dot") : []) { // none where reviewers see decisions
      const theirs = rows(article).slice(dot.dataset.first - 1, dot.dataset.last);
      dot.classList.toggle("chosen", theirs.some((row) => chosen.includes(row)));
      dot.classList.toggle("near", theirs.every(near));
    }
    band(article, chosen);
  }

  function band(article, chosen) {
    const box = article && article.querySelector(".band");
    if (!box) return;
    if (!chosen.length) { box.setAttribute("width", 0); return; }
    const middle = probability(chosen[0]), low = Math.max(0, middle - level), high = Math.min(1, middle + level);
    box.setAttribute("x", `${4 + 92 * low}%`);
    box.setAttribute("width", `${92 * (high - low)}%`);
  }

  function compare(article, chosen) {
    $("differences").replaceChildren();
    for (const cell of $("round").querySelectorAll("td.differs")) cell.classList.remove("differs");
    $("verdict").classList.toggle("pairless", chosen.length < 2);
    if (chosen.length < 2) { $("pair-said").textContent = asked(article, chosen); return; }
    const [a, b] = ordered(chosen), strong = document.createElement("strong");
    strong.textContent = `${a.dataset.number} and ${b.dataset.number}`;
    $("pair-said").replaceChildren(strong, listed(article) ? decided(article, a, b) : reportable(article, chosen)
      ? `: ${gapInWords(a, b)}.`
      : `: ${gapInWords(a, b)}, too close to be a violation: up to ${level} is allowed.`);
    differences(a, b);
  }

  function asked(article, chosen) {
    if (article && !("possible" in article.dataset)) {
      return `No pair here can be a violation${listed(article) ? "" : `: all are within ${level} of each other`}. ${touch || !likewise.keys.on() ? "Choose No violation" : `Press ${likewise.keys.letter("none")}`} to go on.`;
    }
    return chosen.length
      ? `Person ${chosen[0].dataset.number} is selected. Select another to make a pair.`
      : "Select two people who are alike but were treated too differently.";
  }

  function decided(article, a, b) {
    if (a.dataset.decision === b.dataset.decision) return `: both got a ${a.dataset.decision}.`;
    return together(article, a, b) ? ": one got a yes, the other a no." : ": can't be reported, the gap is within the tolerance.";
  }

  // What differs comes first; what is the same needs one line.
  function differences(a, b) {
    const theirs = b.querySelectorAll("td[data-value]"), same = [];
    a.querySelectorAll("td[data-value]").forEach((cell, i) => {
      const other = theirs[i], differs = cell.dataset.value !== other.dataset.value;
      cell.classList.toggle("differs", differs);
      other.classList.toggle("differs", differs);
      if (differs) line(cell.dataset.label, `${cell.textContent} | ${other.textContent}`).classList.add("differs");
      else same.push(`${cell.dataset.label} ${cell.textContent}`);
    });
    if (same.length) line("both", same.join(", ")).classList.add("same");
  }

  function line(name, text) {
    const made = document.createElement("div"), term = document.createElement("dt"), what = document.createElement("dd");
    term.textContent = name;
    what.textContent = text;
    made.append(term, what);
    $("differences").append(made);
    return made;
  }

  return { touch, rows, listed, together, reportable, ordered, paint: (article, chosen) => { mark(article, chosen); compare(article, chosen); } };
})();
