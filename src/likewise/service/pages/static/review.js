// The reviewer's page. What a round looks like comes from the server, escaped; here is only what hands do with it.
"use strict";
(() => {
  const root = document.getElementById("review");
  const { base, csrf, name } = root.dataset;
  const grace = 1000 * Number(root.dataset.grace);
  const lease = 1000 * Number(root.dataset.lease);
  const level = Number(root.dataset.level);
  const $ = (id) => document.getElementById(id);
  const desk = $("round"), empty = $("empty"), status = $("status"), trouble = $("trouble");
  const touch = matchMedia("(hover: none) and (pointer: coarse)").matches; // no keys to speak of

  let current = null; // the round in front, an <article>
  let ahead = []; // rounds fetched in advance
  let chosen = []; // the people selected, as rows, in the order of selection
  let last = null; // the verdict that can be taken back: {id, article, until}
  let fetching = false;
  let sending = null; // the id of what is being sent
  let touched = Date.now();
  const left = new WeakMap(); // what was selected and written on a round that may come back

  // Verdicts wait here until the server has them, also over a reload. The key makes each count once.
  const shelf = `likewise ${base} ${name}`;
  let queue = JSON.parse(localStorage.getItem(shelf) || "[]");
  const keep = () => (queue.length ? localStorage.setItem(shelf, JSON.stringify(queue)) : localStorage.removeItem(shelf));

  const number = (article) => Number(article.dataset.round);
  const probability = (row) => Number(row.dataset.probability);
  const rows = () => (current ? [...current.querySelectorAll("tbody tr")] : []);
  const say = (text) => { status.textContent = text; };
  const several = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const complain = (text) => { trouble.textContent = text; trouble.hidden = !text; };
  const key = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

  async function post(path, body, headers = {}) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 8000);
    try {
      return await fetch(base + path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf, ...headers },
        body: JSON.stringify(body),
        signal: stop.signal,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  // Sending ---------------------------------------------------------------------------------------------------------

  async function send() {
    while (queue.length && !sending) {
      const item = queue[0];
      sending = item.id;
      item.tried = true; // from here on it may have been recorded, also if no answer comes
      keep();
      let answer = null;
      try {
        answer = await post(item.path, item.body, { "Idempotency-Key": item.id });
      } catch {
        // No connection: it stays in the queue.
      }
      sending = null;
      if (!answer || answer.status >= 500 || answer.status === 429 || answer.status === 408) {
        complain(`No connection. ${queue.length === 1 ? "Your verdict is" : `Your ${queue.length} verdicts are`} kept here and will be sent once the connection is back.`);
        setTimeout(send, 1000);
        return;
      }
      if (ended(answer)) return;
      queue.shift();
      keep();
      await answered(item, answer);
    }
    fill();
  }

  // Also 403: another session, of a login in another tab, has taken the place of this page's.
  function ended(answer) {
    if (answer.status !== 401 && answer.status !== 403) return false;
    complain(`Your session has ended. ${queue.length ? "Your verdict is kept here: log in again in another tab, then reload this page." : "Reload this page, and log in if it asks you to."}`);
    return true;
  }

  async function answered(item, answer) {
    let reply = {};
    try { reply = await answer.json(); } catch { /* a proxy's page, not ours */ }
    if (!answer.ok) {
      if (last && last.id === item.id) last = null;
      if (status.textContent === sendingOf(item.body.t)) say("");
      complain(`Round ${item.body.t} ${reply.needless ? "has a verdict already; yours was not needed."
        : `was not recorded: ${reply.detail || "the service refused it."}`}`);
    } else {
      complain("");
      if (item.path === "/verdict") {
        say(`Round ${reply.t}: ${item.summary ? `${item.summary}; ` : ""}recorded as #${reply.event}.`);
        count("today", 1); count("waiting", -1);
        if (last && last.id === item.id) { last.until = Date.now() + grace; offerInWords(); }
      } else {
        say(`Round ${reply.t}: taken back, as #${reply.event}.`);
        count("today", -1); count("waiting", 1);
        if (item.article) again(item.article);
      }
    }
    offer();
  }

  const sendingOf = (t) => `Round ${t}: sending …`;

  // In an element of its own, so that it can go when the time is over without the rest being read out again.
  function offerInWords() {
    if (!grace) return;
    const more = document.createElement("span");
    more.textContent = ` Undo${touch ? "" : " (u)"} for ${grace / 1000} s.`;
    status.append(more);
  }

  function count(id, by) { $(id).textContent = Math.max(0, Number($(id).textContent) + by); }

  function enqueue(path, body, { summary, article } = {}) {
    const item = { id: key(), path, body, summary };
    // An article is for this page only: it isn't kept over a reload.
    Object.defineProperty(item, "article", { value: article, enumerable: false });
    queue.push(item);
    keep();
    send();
    return item.id;
  }

  // Rounds ----------------------------------------------------------------------------------------------------------

  let timer = 0;
  function fillLater(wait) { clearTimeout(timer); timer = setTimeout(fill, wait); }

  // One round in front, and one more fetched in advance.
  async function fill() {
    if (!current && ahead.length) { show(ahead.shift()); return; }
    if (fetching || ahead.length) return;
    fetching = true;
    try {
      const beside = [current, ...ahead].filter(Boolean).map(number).concat(queue.map((item) => item.body.t));
      await claimed(await post("/claim", { beside }));
    } catch {
      fillLater(1000);
      if (!current) empty.textContent = "No connection. This page continues by itself once the connection is back.";
    }
    fetching = false;
    if (!current && ahead.length) show(ahead.shift());
  }

  async function claimed(answer) {
    if (answer.status === 200) {
      const box = document.createElement("template");
      box.innerHTML = await answer.text(); // the server's own template, in which everything is escaped
      ahead.push(box.content.querySelector("article"));
    } else {
      fillLater(3000);
      if (!ended(answer) && answer.status !== 204) complain((await answer.json()).detail);
      if (!current) empty.textContent = `No round is waiting for review. ${rest()}`;
    }
    const waiting = answer.headers.get("X-Waiting");
    if (waiting !== null) $("waiting").textContent = Math.max(0, waiting - unsent());
  }

  function rest() {
    const n = Number($("today").textContent);
    if (queue.length) return "Keep this page open until everything is sent.";
    if (!n) return "New rounds appear here by themselves.";
    return `You answered ${several(n, "round")} today. Thank you; you can close this page.`;
  }

  const unsent = () => queue.filter((item) => item.path === "/verdict").length;

  function written() {
    const reason = document.querySelector("#reasons input:checked");
    return { chosen, reason: reason ? reason.value : "", note: $("note").value };
  }

  function show(article) {
    const before = left.get(article) || { chosen: [], reason: "", note: "" };
    current = article;
    chosen = before.chosen;
    for (const old of desk.querySelectorAll("article")) old.remove();
    empty.hidden = Boolean(article);
    $("verdict").classList.toggle("idle", !article);
    if (article) {
      const possible = "possible" in article.dataset;
      $("report").classList.toggle("primary", possible);
      $("none").classList.toggle("primary", !possible);
      for (const row of rows()) {
        row.classList.remove("chosen", "near");
        row.querySelectorAll(".differs").forEach((cell) => cell.classList.remove("differs"));
      }
      desk.append(article);
    } else {
      empty.textContent = "Fetching a round …";
    }
    $("note").value = before.note;
    for (const radio of document.querySelectorAll("#reasons input")) radio.checked = radio.value === before.reason;
    paint();
    window.scrollTo({ top: 0, behavior: "instant" });
    fill();
  }

  function again(article) {
    if (current) { left.set(current, written()); ahead.unshift(current); }
    show(article);
  }

  // Selecting -------------------------------------------------------------------------------------------------------

  function toggle(row) {
    chosen = chosen.includes(row) ? chosen.filter((other) => other !== row) : [...chosen, row].slice(-2);
    paint();
  }

  // Where reviewers see decisions, the server says which pairs can be reported, and no probability is here at all.
  const listed = () => current && current.dataset.pairs !== undefined;
  const gapOf = (x, y) => Math.abs(probability(x) - probability(y));
  const gap = () => gapOf(...chosen);
  function together(x, y) {
    if (!listed()) return gapOf(x, y) > level;
    const pairs = current.dataset.pairs.trim().split(" "), [a, b] = [x.dataset.number, y.dataset.number];
    return pairs.includes(`${a}-${b}`) || pairs.includes(`${b}-${a}`);
  }
  const reportable = () => chosen.length === 2 && together(...chosen);
  const selected = () => [...chosen].sort((x, y) => Number(x.dataset.number) - Number(y.dataset.number));
  // One digit more where two wouldn't tell the gap from what is allowed.
  const gapInWords = () => `${gap().toFixed(Math.abs(gap() - level) < 0.005 ? 3 : 2)} apart`;

  function paint() {
    for (const row of rows()) {
      const isChosen = chosen.includes(row);
      const near = !isChosen && chosen.length === 1 && !together(row, chosen[0]);
      row.classList.toggle("chosen", isChosen);
      row.classList.toggle("near", near);
      row.querySelector("button").setAttribute("aria-pressed", isChosen);
      row.querySelector(".close").hidden = !near;
      const dot = current.querySelector(`.dot[data-number="${row.dataset.number}"]`);
      if (!dot) continue; // no axis where reviewers see decisions
      dot.classList.toggle("chosen", isChosen);
      dot.classList.toggle("near", near);
    }
    band();
    compare();
    $("report").disabled = !reportable();
    offer();
  }

  function band() {
    const box = current && current.querySelector(".band");
    if (!box) return;
    if (!chosen.length) { box.setAttribute("width", 0); return; }
    const middle = probability(chosen[0]), low = Math.max(0, middle - level), high = Math.min(1, middle + level);
    box.setAttribute("x", `${4 + 92 * low}%`);
    box.setAttribute("width", `${92 * (high - low)}%`);
  }

  function compare() {
    const list = $("differences"), sentence = $("pair-said");
    list.replaceChildren();
    for (const cell of desk.querySelectorAll("td.differs")) cell.classList.remove("differs");
    if (chosen.length < 2) {
      if (current && !("possible" in current.dataset)) {
        sentence.textContent = `No pair here can be a violation${listed() ? "" : `: all are within ${level} of each other`}. ${touch ? "Tap No violation" : "Press n"} to go on.`;
      } else {
        sentence.textContent = chosen.length
          ? `Person ${chosen[0].dataset.number} is selected. Select another to make a pair.`
          : "Select two people who are alike but were treated too differently.";
      }
      return;
    }
    const [a, b] = selected();
    const strong = document.createElement("strong");
    strong.textContent = `${a.dataset.number} and ${b.dataset.number}`;
    sentence.replaceChildren(strong, listed() ? decidedInWords(a, b) : reportable()
      ? `: ${gapInWords()}.`
      : `: ${gapInWords()}, too close to be a violation: up to ${level} is allowed.`);
    const theirs = b.querySelectorAll("td[data-value]");
    a.querySelectorAll("td[data-value]").forEach((cell, i) => {
      const other = theirs[i], differs = cell.dataset.value !== other.dataset.value;
      cell.classList.toggle("differs", differs);
      other.classList.toggle("differs", differs);
      const line = document.createElement("div"), term = document.createElement("dt"), what = document.createElement("dd");
      term.textContent = cell.dataset.label;
      what.textContent = differs ? `${cell.textContent} | ${other.textContent}` : `both ${cell.textContent}`;
      line.classList.toggle("differs", differs);
      line.append(term, what);
      list.append(line);
    });
  }

  function decidedInWords(a, b) {
    if (a.dataset.decision === b.dataset.decision) return `: both got a ${a.dataset.decision}.`;
    return reportable() ? ": one got a yes, the other a no." : ": can't be reported, the gap is within the tolerance.";
  }

  // Verdicts --------------------------------------------------------------------------------------------------------

  function give(verdict) {
    if (!current || (verdict === "pair" && !reportable())) return;
    const now = written();
    const body = { t: number(current), verdict, reason: now.reason, note: now.note };
    let summary = verdict === "none" ? "no violation" : "skipped";
    if (reportable()) {
      const pair = selected().map((row) => row.dataset.number).join(" and ");
      // Whoever meant Enter sees at once that the pair was not taken.
      summary = verdict === "pair" ? `you reported ${pair}` : `${summary}, ${pair} not reported`;
    }
    if (verdict === "pair") body.pair = chosen.map((row) => row.dataset.id);
    const article = current;
    left.set(article, now);
    say(sendingOf(body.t));
    const id = enqueue("/verdict", body, { summary });
    last = { id, article, until: Infinity };
    show(ahead.shift() || null);
  }

  // Undo stays within reach also when no round is left.
  function offer() {
    const over = !last || grace === 0 || Date.now() > last.until;
    $("undo").disabled = over;
    $("verdict").hidden = !current && over;
    if (over) status.querySelector("span")?.remove();
  }

  function undo() {
    if (!last || Date.now() > last.until) { say("There is nothing left to take back."); offer(); return; }
    const { id, article } = last;
    last = null;
    const waits = queue.find((item) => item.id === id);
    if (waits && sending !== id && !waits.tried) {
      queue = queue.filter((item) => item !== waits);
      keep();
      say(`Round ${number(article)}: taken back before it was sent.`);
      again(article);
    } else {
      enqueue("/retract", { t: number(article) }, { article });
    }
    offer();
  }

  // Hands -----------------------------------------------------------------------------------------------------------

  function help() {
    if ($("help").open) return;
    $("help-close").textContent = localStorage.getItem("likewise help seen") ? "Back to the round" : "Begin";
    localStorage.setItem("likewise help seen", "yes");
    $("help").showModal();
    $("help-title").focus(); // a small screen begins at the top, not at the button
    $("help").scrollTop = 0;
  }

  function hints(on) {
    root.classList.toggle("no-hints", !on);
    $("hints-switch").setAttribute("aria-pressed", on);
    localStorage.setItem("likewise hints", on ? "on" : "off");
  }

  function move(by) {
    const buttons = rows().map((row) => row.querySelector("button"));
    if (!buttons.length) return;
    const index = buttons.indexOf(document.activeElement);
    buttons[index < 0 ? (by > 0 ? 0 : buttons.length - 1) : Math.min(buttons.length - 1, Math.max(0, index + by))].focus();
  }

  desk.addEventListener("click", (event) => {
    const chip = event.target.closest(".chip"), dot = event.target.closest(".dot"), row = event.target.closest("tbody tr");
    const find = (n) => rows().find((row) => row.dataset.number === n);
    if (chip) { chosen = [find(chip.dataset.first), find(chip.dataset.second)]; paint(); }
    else if (dot) toggle(find(dot.dataset.number));
    else if (row) toggle(row);
  });
  // Whoever clicked a button goes on with keys for the round, not for that button.
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && event.detail && !button.closest("dialog")) button.blur();
  }, true);
  // A click on a row selects a person; it shouldn't move the focus to the table around it.
  desk.addEventListener("mousedown", (event) => { if (event.target.closest("tbody td")) event.preventDefault(); });
  // The second click of a double click would be about a round that nobody has seen yet.
  const once = (id, act) => $(id).addEventListener("click", (event) => { if (event.detail < 2) act(); });
  once("report", () => give("pair"));
  once("none", () => give("none"));
  once("skip", () => give("skip"));
  once("undo", undo);
  $("help-open").addEventListener("click", help);
  $("help").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.closest("button") || !$("help").open) return;
    event.preventDefault();
    event.stopPropagation(); // once help is closed, the same Enter would report the pair
    $("help").close();
  });
  $("hints-switch").addEventListener("click", () => hints(root.classList.contains("no-hints")));

  const offers = (chip) => [chip.dataset.first, chip.dataset.second].every((n) => chosen.some((row) => row.dataset.number === n));

  document.addEventListener("keydown", (event) => {
    touched = Date.now();
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const typing = event.target.closest("textarea, input:not([type=radio])");
    if (typing) { if (event.key === "Escape") typing.blur(); return; }
    // A key that is held down would answer round after round; only arrows may go on.
    if (event.repeat && !event.key.startsWith("Arrow")) {
      if (event.key === "Enter") event.preventDefault(); // a focused button would be pressed again and again
      return;
    }
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key; // whatever Caps Lock says
    const button = event.target.closest("button, a, summary");
    if (pressed === "Enter") {
      // A focused button keeps its Enter, except a person's once the pair is made, and a hint's that is selected.
      const done = button && reportable() && (button.matches(".person") || (button.matches(".chip") && offers(button)));
      if (button && !done) return;
      event.preventDefault();
      give("pair");
      return;
    }
    const reason = document.querySelector(`#reasons input[data-key="${CSS.escape(pressed)}"]`);
    const person = /^[1-9]$/.test(pressed) && rows()[Number(pressed) - 1];
    const action = { n: () => give("none"), s: () => give("skip"), u: undo, "?": help, t: () => $("note").focus(),
      h: () => hints(root.classList.contains("no-hints")), Escape: () => { chosen = []; paint(); },
      ArrowDown: () => move(1), ArrowUp: () => move(-1) }[pressed];
    if (person) toggle(person);
    else if (reason) reason.checked = !reason.checked;
    else if (action) action();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", () => { touched = Date.now(); });

  // A round stays with whoever is working on it, and goes back when the page is left or nobody has touched it for long.
  async function renew(article) {
    const answer = await post("/renew", { t: number(article) });
    if (answer.ok) article.dataset.until = (await answer.json()).until;
    if (answer.status !== 409) return;
    ahead = ahead.filter((other) => other !== article);
    if (current === article) { complain(`Round ${number(article)} has gone to another reviewer.`); show(ahead.shift() || null); }
  }
  setInterval(() => {
    if (Date.now() - touched > lease) return;
    for (const article of [current, ...ahead].filter(Boolean)) renew(article).catch(() => {});
  }, Math.max(1000, lease / 3));
  setInterval(offer, 500);
  window.addEventListener("pagehide", () => {
    const rounds = [current, ...ahead].filter(Boolean).map((article) => `${number(article)}@${article.dataset.until}`);
    if (rounds.length) navigator.sendBeacon(`${base}/release`, new URLSearchParams({ csrf, rounds: rounds.join(",") }));
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  window.addEventListener("online", () => { send(); });

  hints(localStorage.getItem("likewise hints") !== "off");
  if (!localStorage.getItem("likewise help seen")) help();
  offer();
  send();
})();
