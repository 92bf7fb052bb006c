// What every script of the review page shares: who is at it, and how it asks the service.
"use strict";
const likewise = {};
likewise.root = document.getElementById("review");
likewise.element = (id) => document.getElementById(id);

likewise.post = async (path, body, headers = {}) => {
  const { base, csrf } = likewise.root.dataset;
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
};

// What is kept in the browser belongs to somebody's work on a stream. Each thing has an entry of its own: two tabs never
// write over each other's.
likewise.kept = (what) => {
  const { base, name } = likewise.root.dataset, start = `${what} ${base} ${name} `;
  return {
    all: () => Object.keys(localStorage).filter((key) => key.startsWith(start)).map((key) => JSON.parse(localStorage.getItem(key))),
    get: (id) => JSON.parse(localStorage.getItem(start + id)),
    put: (id, value) => localStorage.setItem(start + id, JSON.stringify(value)),
    drop: (id) => localStorage.removeItem(start + id),
    // Tells what another tab did: the id, and the value, which is null once it is dropped.
    heard: (act) => window.addEventListener("storage", ({ key, newValue }) => {
      if (key && key.startsWith(start)) act(key.slice(start.length), JSON.parse(newValue));
    }),
  };
};
