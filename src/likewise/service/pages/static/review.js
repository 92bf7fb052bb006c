// The reviewer's page. What a round looks like comes from the server, escaped; here is only what hands do with it.
"use strict";
(() => {
  const { root, element: $, post, keys, pair } = likewise;
  const { base, csrf } = root.dataset;
  const grace = 1000 * Number(root.dataset.grace);
  const lease = 1000 * Number(root.dataset.lease);
  const least = 1000 * Number(root.dataset.least); // how long a round must have been on screen
  const desk = $("round"), empty = $("empty"), status = $("status"), trouble = $("trouble");
  const NOTHING = { chosen: [], reason: "", note: "", hints: false, seconds: 0 };
  const LASTS = 12 * 3600 * 1000; // of a draft

  let current = null; // the round in front, an <article>
  let ahead = []; // rounds fetched in advance
  let chosen = []; // the people selected, as rows, in the order of selection
  const BRIEF = `likewise brief seen ${root.dataset.base}`; // its version
  let hinted = false; // whether somebody asked why, in this round
  let past = []; // the verdicts that can be taken back, the newest last: {id, t, article, until}
  let fetching = false, over = false;
  let touched = Date.now();

  const number = (article) => Number(article.dataset.round);
  const rows = () => pair.rows(current);
  const say = (text) => { status.textContent = text; };
  const several = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const complain = (text) => { trouble.textContent = text; trouble.hidden = !text; };
  const reportable = () => pair.reportable(current, chosen);

  // Sending ---------------------------------------------------------------------------------------------------------

  const outbox = likewise.outbox({
    answered,
    waits: (n) => complain(`No connection. ${n === 1 ? "Your verdict is" : `Your ${n} verdicts are`} kept here and will be sent once the connection is back.`),
    ended,
  });

  // Also 403: another session, of a login in another tab, has taken the place of this page's.
  function ended(answer) {
    if (answer.status !== 401 && answer.status !== 403) return false;
    if (!over) {
      over = true;
      keepDraft();
      const n = outbox.size();
      const sent = n === 1 ? "Your verdict is kept in this browser. It is sent" : `Your ${n} verdicts are kept in this browser. They are sent`;
      $("ended-kept").textContent = n ? `${sent} once you have logged in.` : "Nothing is lost.";
      complain("");
      $("lease").hidden = true;
      root.classList.add("over");
      $("ended").hidden = false;
      $("ended-login").focus();
    }
    return true;
  }

  // Said only while every verdict since the page was opened is proved; null is one that was said before.
  let unproved = null;
  function inLog(reply) {
    if (reply.proved === null) return;
    if (!reply.proved) unproved ??= reply.event;
    $("in-log").textContent = unproved === null ? "your verdicts are in the log" : "";
    if (unproved !== null) complain(`The log does not prove that it holds your event #${unproved}. Tell whoever runs this service.`);
  }

  function answered(item, answer, reply) {
    const { ok } = answer;
    stillWaiting(answer);
    if (!ok) refused(item, reply);
    else if (item.path === "/verdict" || item.path === "/opinion") {
      complain("");
      const recorded = reply.event === null ? "you had said so before" : `recorded as #${reply.event}${reply.late ? ", too late to be learned" : ""}`;
      say(`Round ${reply.t}: ${item.summary ? `${item.summary}; ` : ""}${recorded}.`);
      if (reply.event !== null) count("today", 1);
      const given = past.find((verdict) => verdict.id === item.id);
      if (given) { given.until = Date.now() + grace; offerInWords(); }
    } else {
      complain("");
      say(`Round ${reply.t}: taken back, as #${reply.event}.`);
      count("today", -1);
      if (item.article) { again(item.article); renew(item.article).catch(() => {}); } // a colleague may have been asked since
    }
    if (ok) inLog(reply);
    offer();
    fill();
  }

  function refused(item, reply) {
    past = past.filter((verdict) => verdict.id !== item.id);
    if (status.textContent === sendingOf(item.body.t)) say("");
    const what = item.path === "/retract" ? "taken back" : "recorded";
    complain(`Round ${item.body.t} ${reply.needless ? "has a verdict already; yours was not needed."
      : `was not ${what}: ${reply.detail || "the service refused it."}`}`);
  }

  const sendingOf = (t) => `Round ${t}: sending …`;

  // In an element of its own, so that it can go when the time is over without the rest being read out again.
  function offerInWords() {
    if (!grace) return;
    const more = document.createElement("span");
    more.textContent = ` Undo${pair.touch || !keys.on() ? "" : ` (${keys.letter("undo")})`} for ${grace / 1000} s.`;
    status.append(more);
  }

  function count(id, by) { $(id).textContent = Math.max(0, Number($(id).textContent) + by); }

  // Answers overtake each other: how many rounds wait is what the service said after its newest event, but for verdicts
  // that are on their way.
  let counted = Number($("waiting").textContent), after = 0;
  function stillWaiting(answer) {
    const [waiting, event] = (answer.headers.get("X-Waiting") || "").split(" ").map(Number);
    if (event >= after) { counted = waiting; after = event; }
    $("waiting").textContent = Math.max(0, counted - outbox.verdicts());
    left();
  }

  // Rounds ----------------------------------------------------------------------------------------------------------

  let timer = 0;
  function fillLater(wait) { clearTimeout(timer); timer = setTimeout(fill, wait); }

  // One round in front, and one more fetched in advance.
  async function fill() {
    if (over) return;
    if (!current && ahead.length) { show(ahead.shift()); return; }
    if (fetching || ahead.length) return;
    fetching = true;
    try {
      const beside = [current, ...ahead].filter(Boolean).map(number).concat(outbox.rounds());
      const begun = drafts.all().sort((x, y) => y.at - x.at).map((draft) => draft.t).slice(0, 5);
      await claimed(await post("/claim", { beside, begun }));
    } catch {
      fillLater(1000);
      if (!current) empty.textContent = "No connection. This page continues by itself once the connection is back.";
    }
    fetching = false;
    if (!current && ahead.length) show(ahead.shift());
  }

  function taken(text) {
    const box = document.createElement("template");
    box.innerHTML = text; // the server's own template, in which everything is escaped
    const article = box.content.querySelector("article");
    article.ends = Date.now() + lease; // by this clock, which may not be the server's
    return article;
  }

  async function claimed(answer) {
    if (answer.status === 200) {
      const article = taken(await answer.text());
      if (outbox.rounds().includes(number(article))) fillLater(1000); // answered in another tab meanwhile
      else ahead.push(article);
    } else {
      if (ended(answer)) return;
      fillLater(3000);
      if (answer.status !== 204) complain((await answer.json()).detail);
      if (!current) empty.textContent = `No round is waiting for review. ${rest()}`;
    }
    stillWaiting(answer);
  }

  function rest() {
    const n = Number($("today").textContent);
    if (outbox.size()) return "Keep this page open until everything is sent.";
    if (!n) return "New rounds appear here by themselves.";
    return `You answered ${several(n, "round")} today. Thank you; you can close this page.`;
  }

  let focused = null; // what to focus when a round comes: the place of a row, or a control that an empty desk hides

  function show(article) {
    const had = document.activeElement, place = rows().findIndex((row) => row.contains(had));
    if (place >= 0) focused = place;
    else if ($("verdict").contains(had)) focused = had;
    else if (had !== document.body && had !== desk) focused = null; // somebody went elsewhere
    stopWatch();
    current = article;
    for (const old of desk.querySelectorAll("article")) old.remove();
    empty.hidden = Boolean(article);
    $("verdict").classList.toggle("idle", !article);
    if (article) {
      $("report").classList.toggle("primary", "possible" in article.dataset);
      $("none").classList.toggle("primary", !("possible" in article.dataset));
      desk.append(article);
      if (focused !== null) (focused.nodeType ? focused : (rows()[focused] || rows().at(-1)).querySelector("button")).focus();
      focused = null;
      $("announce").textContent = article.dataset.said;
    } else {
      empty.textContent = "Fetching a round …";
      if (place >= 0) desk.focus();
    }
    wording();
    restore(article ? drafts.get(number(article)) || given.get(number(article)) || NOTHING : NOTHING);
    startWatch();
    window.scrollTo({ top: 0, behavior: "instant" });
    fill();
  }

  // Where only an opinion on somebody else's pair is asked, the pair stands, and the buttons say so.
  const asked = () => (current && current.dataset.asked ? current.dataset.asked.split("-").map((n) => rows()[n - 1]) : null);
  function wording() {
    const text = (id, words) => { $(id).firstChild.textContent = `${words} `; };
    text("report", asked() ? "Too different" : "Report this pair");
    text("none", asked() ? "Not too different" : "No violation");
  }

  function again(article) {
    if (current) { keepDraft(); ahead.unshift(current); }
    show(article);
  }

  // Drafts: what was begun on a round is kept over a reload, and shown in another tab ----------------------------------

  const drafts = likewise.kept("likewise-draft");
  const given = new Map(); // what verdicts were given with, for whoever takes one back

  function draft() {
    const reason = document.querySelector("#reasons input:checked");
    return { t: number(current), at: Date.now(), chosen: chosen.map((row) => row.dataset.id), hints: hinted,
      reason: reason ? reason.value : "", note: $("note").value, seconds: looked() / 1000 };
  }

  function keepDraft() {
    if (!current) return;
    const now = draft();
    if (now.chosen.length || now.reason || now.note || now.hints) drafts.put(now.t, now);
    else drafts.drop(now.t);
  }

  function restore(before) {
    chosen = before.chosen.map((id) => rows().find((row) => row.dataset.id === id)).filter(Boolean);
    chosen = asked() || chosen;
    hinted = before.hints;
    if (current && before.seconds) seen.set(current, Math.max(seen.get(current) || 0, 1000 * before.seconds));
    $("note").value = before.note;
    for (const radio of document.querySelectorAll("#reasons input")) radio.checked = radio.value === before.reason;
    paint();
  }

  for (const old of drafts.all()) if (Date.now() - old.at > LASTS) drafts.drop(old.t);
  drafts.heard((t, draft) => {
    if (current && String(number(current)) === t && draft && document.activeElement !== $("note")) restore(draft);
  });
  outbox.heard((item) => {
    if (item.path === "/retract") return;
    ahead = ahead.filter((article) => number(article) !== item.body.t);
    if (!current || number(current) !== item.body.t) return;
    say(`Round ${item.body.t}: you answered it in another tab.`);
    show(ahead.shift() || null);
  });

  // How long a round was in sight -------------------------------------------------------------------------------------

  const seen = new WeakMap(); // milliseconds, by article
  let since = 0;
  const looked = () => (current ? (seen.get(current) || 0) + (since ? performance.now() - since : 0) : 0);
  function stopWatch() { if (current && since) seen.set(current, looked()); since = 0; }
  function startWatch() { stopWatch(); if (current && !document.hidden && !$("help").open) since = performance.now(); }
  document.addEventListener("visibilitychange", startWatch);

  const pace = likewise.kept("likewise-pace");
  function left() {
    const times = (pace.get("") || []).slice().sort((x, y) => x - y), waiting = Number($("waiting").textContent);
    const minutes = Math.round((times[Math.floor(times.length / 2)] * waiting) / 60);
    $("left").textContent = times.length < 3 || !waiting ? "" : minutes < 1 ? "less than a minute left" : `about ${minutes} min left`;
  }

  // Selecting -------------------------------------------------------------------------------------------------------

  function choose(rows) {
    chosen = asked() || rows;
    paint();
    keepDraft();
  }
  const toggle = (row) => choose(chosen.includes(row) ? chosen.filter((other) => other !== row) : [...chosen, row].slice(-2));
  const able = (id, can) => $(id).setAttribute("aria-disabled", !can); // not disabled: the focus would be lost

  function paint() {
    pair.paint(current, chosen);
    $("why").replaceChildren();
    $("why-open").hidden = pair.listed(current) || chosen.length < 2;
    able("report", reportable());
    offer();
  }

  // Why the two have their probabilities. It comes only when asked for, and only once a pair is chosen: a verdict should
  // not begin with it. That somebody asked is sent with the verdict.
  async function why() {
    if (!current || pair.listed(current)) return;
    if (chosen.length < 2) { say("Select two people first; then you can ask why."); return; }
    const article = current, two = chosen;
    hinted = true;
    keepDraft();
    try {
      const answer = await post("/why", { t: number(article), pair: pair.ordered(two).map((row) => row.dataset.id) });
      if (ended(answer) || current !== article || chosen !== two) return;
      if (answer.ok) {
        $("why").innerHTML = await answer.text(); // the server's template, too
        $("why-open").hidden = true;
        // Many differences fill the box: what was asked for must not be below its edge.
        $("compared").scrollTop += $("why").getBoundingClientRect().top - $("compared").getBoundingClientRect().top;
      } else complain((await answer.json()).detail);
    } catch {
      say("No connection, so there is no explanation now.");
    }
  }

  // Verdicts --------------------------------------------------------------------------------------------------------

  function give(verdict) {
    if (!current || over || (verdict === "pair" && !reportable())) return;
    if (looked() < least) { say(`Round ${number(current)} has only just come up. Look at it first.`); return; }
    const now = draft(), article = current;
    const body = { t: now.t, verdict, reason: now.reason, note: now.note, hints: now.hints, seconds: Math.round(10 * now.seconds) / 10 };
    let summary = verdict === "none" ? "no violation" : "skipped";
    if (reportable()) {
      const two = pair.ordered(chosen).map((row) => row.dataset.number).join(" and ");
      // Whoever meant Enter sees at once that the pair was not taken.
      summary = verdict === "pair" ? `you reported ${two}` : `${summary}, ${two} not reported`;
    }
    if (verdict === "pair") body.pair = now.chosen;
    if (asked()) { opinion(body, now.chosen, article); return; }
    given.set(now.t, now);
    drafts.drop(now.t);
    pace.put("", [...(pace.get("") || []), body.seconds].slice(-20));
    say(sendingOf(now.t));
    const id = outbox.add("/verdict", body, { summary });
    past.push({ id, t: now.t, article, until: Infinity });
    show(ahead.shift() || null);
  }

  function opinion({ t, verdict, hints, seconds }, two, article) {
    const objects = verdict === "skip" ? null : verdict === "pair";
    const said = objects === null ? "skipped" : objects ? "too different" : "not too different";
    drafts.drop(t);
    say(sendingOf(t));
    outbox.add("/opinion", { t, pair: two, objects, hints, seconds }, { summary: `${article.dataset.asked.replace("-", " and ")} ${said}` });
    show(ahead.shift() || null);
  }

  // Undo stays within reach also when no round is left; it reaches every verdict whose grace time still runs.
  function offer() {
    past = grace ? past.filter((verdict) => Date.now() <= verdict.until) : [];
    able("undo", past.length);
    $("undo-round").textContent = past.length ? `round ${past.at(-1).t}` : "";
    $("verdict").hidden = !current && !past.length;
    if (!past.length) status.querySelector("span")?.remove();
  }

  function undo() {
    offer();
    const verdict = past.pop();
    if (!verdict) { say("There is nothing left to take back."); return; }
    if (outbox.withdraw(verdict.id)) {
      say(`Round ${verdict.t}: taken back before it was sent.`);
      again(verdict.article);
    } else {
      outbox.add("/retract", { t: verdict.t }, { article: verdict.article });
    }
    offer();
  }

  // What has the focus is never behind the bar at the bottom, however many lines that has.
  const dock = document.querySelector(".dock");
  new ResizeObserver(() => document.documentElement.style.setProperty("--dock", `${dock.offsetHeight + 16}px`)).observe(dock);

  // Hands -----------------------------------------------------------------------------------------------------------

  function help() {
    if ($("help").open) return;
    $("help-close").textContent = localStorage.getItem("likewise help seen") ? "Back to the round" : "Begin";
    stopWatch();
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
    const find = (n) => rows()[Number(n) - 1];
    if (chip) choose([find(chip.dataset.first), find(chip.dataset.second)]);
    else if (dot && dot.dataset.first !== dot.dataset.last) find(dot.dataset.first).querySelector("button").focus();
    else if (dot) toggle(find(dot.dataset.first));
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
  once("why-open", why);
  $("reasons").addEventListener("change", keepDraft);
  $("note").addEventListener("input", keepDraft);
  $("help-open").addEventListener("click", help);
  $("help").addEventListener("close", () => { // who only loaded the page again has not seen it
    localStorage.setItem("likewise help seen", "yes");
    localStorage.setItem(BRIEF, root.dataset.brief);
    startWatch();
  });
  // The browser takes the focus out of what is closed only with its next picture: the next key might still go there.
  function closeHelp(event) {
    event.preventDefault();
    event.stopPropagation(); // once help is closed, the same Enter would report the pair
    document.activeElement.blur();
    $("help").close();
  }
  $("help").addEventListener("keydown", (event) => {
    const enter = event.key === "Enter" && !event.target.closest("button, input, summary");
    if ($("help").open && (enter || event.key === "Escape")) closeHelp(event);
  });
  $("help-close").addEventListener("click", closeHelp);
  $("hints-switch").addEventListener("click", () => hints(root.classList.contains("no-hints")));

  const offers = (chip) => [chip.dataset.first, chip.dataset.second].every((n) => chosen.some((row) => row.dataset.number === n));
  const ACTIONS = { none: () => give("none"), skip: () => give("skip"), undo, why, help, note: () => $("note").focus(),
    hints: () => hints(root.classList.contains("no-hints")) };
  const FIXED = { Escape: () => choose([]), ArrowDown: () => move(1), ArrowUp: () => move(-1) };

  function act(pressed) {
    const person = keys.on() && /^[1-9]$/.test(pressed) && rows()[Number(pressed) - 1];
    const name = keys.action(pressed), reason = name && document.querySelector(`#reasons input[data-action="${name}"]`);
    const action = FIXED[pressed] || ACTIONS[name];
    if (person) toggle(person);
    else if (reason) { reason.checked = !reason.checked; keepDraft(); }
    else if (action) action();
    else return false;
    return true;
  }

  document.addEventListener("keydown", (event) => {
    awake();
    if (over || event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
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
    } else if (act(pressed)) event.preventDefault();
  });

  // A round stays with whoever is working on it, and goes back when the page is left or nobody has touched it for long.
  const WARNED = Math.min(60_000, lease / 3);
  let renewing = false;

  function awake() {
    touched = Date.now();
    if (over || renewing || !current || current.ends - Date.now() > (2 * lease) / 3) return;
    renewing = true;
    Promise.all([current, ...ahead].filter(Boolean).map((article) => renew(article).catch(() => {}))).then(() => { renewing = false; lasts(); });
  }
  for (const sign of ["pointerdown", "pointermove", "wheel", "scroll"]) document.addEventListener(sign, awake, { passive: true });

  function lasts() {
    const theirs = current && !over && !("yours" in current.dataset); // nobody else is asked what is only for them
    const seconds = theirs ? Math.ceil((current.ends - Date.now()) / 1000) : Infinity;
    const near = 1000 * seconds <= WARNED;
    $("lease").hidden = !near;
    if (!near) return;
    const what = seconds > 0 ? `goes back to the others in ${several(seconds, "second")}` : "may have gone to somebody else";
    $("lease-time").textContent = `Round ${number(current)} ${what}.`;
  }

  async function renew(article) {
    const answer = await post("/renew", { t: number(article) });
    if (ended(answer)) return;
    if (answer.ok) {
      const { until, people } = await answer.json();
      article.dataset.until = until;
      article.ends = Date.now() + lease;
      if (people !== pair.rows(article).length) await fetchAgain(article);
    }
    if (answer.status !== 409) return;
    const { detail } = await answer.json();
    ahead = ahead.filter((other) => other !== article);
    if (current !== article) return;
    keepDraft();
    complain(detail);
    show(ahead.shift() || null);
  }

  // Somebody in a round was erased while it was here.
  async function fetchAgain(article) {
    const t = number(article), beside = [current, ...ahead].filter(Boolean).map(number).filter((other) => other !== t);
    const answer = await post("/claim", { beside, begun: [t] });
    const fresh = answer.status === 200 ? taken(await answer.text()) : null;
    if (fresh && number(fresh) !== t) { ahead.push(fresh); return; }
    ahead = ahead.map((other) => (other === article ? fresh : other)).filter(Boolean);
    if (current !== article) return;
    keepDraft();
    if (fresh) seen.set(fresh, looked());
    say(`Round ${t}: somebody in it was erased, and is no longer shown.`);
    show(fresh || ahead.shift() || null);
  }

  setInterval(() => { offer(); lasts(); }, 500);
  // A backup for whoever looks long without touching anything, and to hear of what happened to a round meanwhile.
  setInterval(() => { if (!over && Date.now() - touched < lease / 2 && current) renew(current).catch(() => {}); }, Math.max(1000, lease / 3));
  window.addEventListener("pagehide", () => {
    const rounds = [current, ...ahead].filter(Boolean).map((article) => `${number(article)}@${article.dataset.until}`);
    if (current) keepDraft();
    if (rounds.length && !over) navigator.sendBeacon(`${base}/release`, new URLSearchParams({ csrf, rounds: rounds.join(",") }));
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  window.addEventListener("online", () => { outbox.send(); });

  hints(localStorage.getItem("likewise hints") !== "off");
  if (!localStorage.getItem("likewise help seen") || (localStorage.getItem(BRIEF) || "0") !== root.dataset.brief) help();
  offer();
  left();
  outbox.send();
  fill();
})();
