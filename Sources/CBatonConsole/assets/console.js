// The console's script. Pages work without it. With it, a page follows what changes, questions open above the page, and
// keys do what links do. One tab of a browser holds the stream of changes and tells the others.
const main = document.getElementById("main");
const live = document.getElementById("live");
const pauseButton = document.getElementById("pause");
const isSignedIn = pauseButton !== null;
let isPaused = sessionStorage.getItem("paused") === "yes";
let isDirty = false, isFetching = false, lastFetch = 0, tag = null, problem = "";

// ----- Sign-in: the code stands behind the '#', which no server and no log sees.
const code = document.getElementById("code");
if (code && location.hash.length > 1) {
  code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  code.form.requestSubmit();
}

// ----- Bringing the page up to date
// 'form.id' is not its id if the form has a field of that name.
const idOf = (node) => node.getAttribute?.("id") ?? "";
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || idOf(old) !== idOf(fresh)) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const keeps = (name) => (name === "open" && old.nodeName === "DETAILS") || name === "data-selected";
  for (const { name, value } of fresh.attributes)
    if (!keeps(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!keeps(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  // What a person types and selects stays.
  if (["INPUT", "TEXTAREA", "SELECT"].includes(old.nodeName)) return;
  const named = new Map([...old.children].filter(idOf).map((child) => [idOf(child), child]));
  const stays = new Set([...fresh.children].filter(idOf).map(idOf));
  for (const [id, child] of named) if (!stays.has(id)) child.remove();
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = named.get(idOf(child));
    if (known && known !== place) old.insertBefore(known, place);
    else if (!place) { old.append(child); continue; }
    else if (named.has(idOf(place)) && idOf(place) !== idOf(child)) { old.insertBefore(child, place); continue; }
    const target = known || place;
    const next = target.nextSibling;
    morph(target, child);
    place = next;
  }
  while (place) { const next = place.nextSibling; place.remove(); place = next; }
}

function show(region) {
  const active = document.activeElement;
  morph(main, region);
  // An element that was moved has lost the focus.
  if (active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
  dates();
}

async function update() {
  if (isFetching || isPaused || document.hidden || !isDirty || document.querySelector("dialog[open]")) return;
  const wait = 1000 - (Date.now() - lastFetch);
  if (wait > 0) { setTimeout(update, wait); return; }
  [isFetching, isDirty, lastFetch] = [true, false, Date.now()];
  try {
    const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 401) { location.reload(); return; }
    if (answer.status === 503) throw new Error("The coordinator does not answer");
    if (answer.status >= 500) throw new Error("The console does not work");
    if (answer.status !== 304) {
      tag = answer.headers.get("ETag");
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const region = fresh.getElementById("main");
      if (region) { show(document.importNode(region, true)); document.title = fresh.title; }
    }
    problem = "";
  } catch (error) {
    problem = error instanceof TypeError ? "The console does not answer" : error.message;
    isDirty = true;
    setTimeout(update, 2000);
  }
  isFetching = false;
  say();
  if (isDirty && !problem) update();
}

function say() {
  if (!live) return;
  live.textContent = problem ? problem + ": trying again" : isPaused ? "Paused" : "Live";
  live.className = problem ? "problem" : isPaused ? "paused" : "live";
}

function changed(topics) {
  const own = (main.dataset.topics ?? "").split(" ").filter(Boolean);
  if (!own.length || !topics.some((topic) => topic === "*" || own.includes(topic) || own.includes("*"))) return;
  isDirty = true;
  update();
}

// ----- One stream for all tabs
const channel = new BroadcastChannel("baton" + location.port);
channel.onmessage = ({ data }) => changed(data);
function tell(topics) { channel.postMessage(topics); changed(topics); }
function follow() {
  return new Promise((finish) => {
    const stream = new EventSource("/changes");
    stream.addEventListener("changes", (event) => tell(JSON.parse(event.data).topics));
    stream.onopen = () => tell(["*"]);
    stream.onerror = () => {
      tell(["*"]);
      if (stream.readyState === EventSource.CLOSED) setTimeout(finish, 5000);
    };
  });
}
async function lead() { for (;;) await follow(); }
if (isSignedIn) {
  if (navigator.locks) navigator.locks.request("baton-stream", lead); else lead();
  document.getElementById("refresh").hidden = true;
  pauseButton.hidden = false;
  pauseButton.onclick = () => {
    isPaused = !isPaused;
    sessionStorage.setItem("paused", isPaused ? "yes" : "no");
    pauseButton.setAttribute("aria-pressed", isPaused);
    say();
    if (!isPaused) { isDirty = true; update(); }
  };
  pauseButton.setAttribute("aria-pressed", isPaused);
  say();
}
document.addEventListener("visibilitychange", update);

// ----- Times count on by themselves
function dates() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const seconds = Math.round((Date.now() - Date.parse(time.dateTime)) / 1000), size = Math.abs(seconds);
    const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
    const at = parts.findIndex(([unit]) => size >= unit);
    let text = at < 0 ? "0 s" : Math.floor(size / parts[at][0]) + " " + parts[at][1];
    const rest = at >= 0 && at < 2 ? Math.floor((size % parts[at][0]) / parts[at + 1][0]) : 0;
    if (rest) text += " " + rest + " " + parts[at + 1][1];
    time.textContent = seconds < 0 ? "in " + text : text + (time.dataset.ago === "age" ? "" : " ago");
  }
}
setInterval(() => { if (!document.hidden && !isPaused) dates(); }, 1000);

// ----- Questions above the page
async function ask(link) {
  const answer = await fetch(link.href);
  const form = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("question");
  if (!form) { location.href = link.href; return; }
  const dialog = document.createElement("dialog");
  form.querySelector("h1").id = "asked";
  dialog.setAttribute("aria-labelledby", "asked");
  dialog.append(document.importNode(form, true));
  dialog.onclose = () => { dialog.remove(); update(); };
  document.body.append(dialog);
  dialog.showModal();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-dialog], a[data-close]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const dialog = link.closest("dialog");
  if (link.matches("[data-close]") && !dialog) return;
  event.preventDefault();
  dialog ? dialog.close() : ask(link);
});

// ----- Keys
const places = { o: "/", r: "/requests", q: "/queue", h: "/hosts", d: "/definitions", a: "/activity" };
let isGoing = false;
function row(step) {
  const rows = [...document.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a"));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.querySelector("a").focus();
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select")) return;
  const key = event.key;
  if (isGoing && places[key]) location.href = places[key];
  else if (key === "/") document.getElementById("search")?.focus();
  else if (key === "?") location.href = "/help";
  else if (key === "j") row(1);
  else if (key === "k") row(-1);
  else if (key === "x") document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click();
  else if (key === "p") pauseButton?.click();
  else if (key === "w") document.querySelector("a[data-key=w]")?.click();
  else if (key !== "g") return;
  isGoing = key === "g";
  event.preventDefault();
});
