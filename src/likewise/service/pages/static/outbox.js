// Verdicts wait here until the service has them, also over a reload. The key makes each count once, whoever sends it.
"use strict";
likewise.outbox = ({ answered, waits, ended }) => {
  const shelf = likewise.kept("likewise"), sender = {};
  let queue = shelf.all().sort((x, y) => x.at - y.at);
  let sending = null;

  const key = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  const later = (answer) => !answer || answer.status >= 500 || answer.status === 429 || answer.status === 408;

  sender.send = async () => {
    while (queue.length && !sending) {
      const item = queue[0];
      // Another tab has sent it, or taken it back.
      if (!shelf.get(item.id)) { queue.shift(); continue; }
      sending = item.id;
      item.tried = true; // from here on it may have been recorded, also if no answer comes
      shelf.put(item.id, item);
      let answer = null;
      try {
        answer = await likewise.post(item.path, item.body, { "Idempotency-Key": item.id });
      } catch {
        // No connection: it stays in the queue.
      }
      sending = null;
      if (later(answer)) { waits(queue.length); setTimeout(sender.send, 1000); return; }
      if (ended(answer)) return;
      queue.shift();
      shelf.drop(item.id);
      let reply = {};
      try { reply = await answer.json(); } catch { /* a proxy's page, not ours */ }
      answered(item, answer, reply);
    }
  };

  sender.add = (path, body, { summary, article } = {}) => {
    const item = { id: key(), at: Date.now(), path, body, summary };
    // An article is for this page only: it isn't kept over a reload.
    Object.defineProperty(item, "article", { value: article, enumerable: false });
    queue.push(item);
    shelf.put(item.id, item);
    sender.send();
    return item.id;
  };

  // Whether something could be taken out again before anybody tried to send it.
  sender.withdraw = (id) => {
    const kept = shelf.get(id);
    if (!kept || kept.tried || sending === id) return false;
    queue = queue.filter((item) => item.id !== id);
    shelf.drop(id);
    return true;
  };

  sender.heard = (act) => shelf.heard((id, item) => { if (item) act(item); });
  sender.rounds = () => shelf.all().map((item) => item.body.t); // those of other tabs, too
  sender.verdicts = () => queue.filter((item) => item.path !== "/retract").length;
  sender.size = () => queue.length;
  return sender;
};
