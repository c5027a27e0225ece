// The console's script. Pages work without it. With it, a page follows what changes, questions open above the page, and
// keys do what links do. One tab of a browser holds the stream of changes and tells the others.
const [main, live, pauseButton, code] = ["main", "live", "pause", "code"].map((id) => document.getElementById(id));
let isPaused = sessionStorage.getItem("paused") === "yes";
let isDirty = false, isFetching = false, isGoing = false, lastFetch = 0, tag = null, problem = "";

// ----- Sign-in: the code stands behind the '#', which no server and no log sees.
if (code && location.hash) {
  code.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  code.form.requestSubmit();
}

// ----- Bringing the page up to date
// 'form.id' is not its id if the form has a field of that name.
const idOf = (node) => node.getAttribute?.("id") ?? "";
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || idOf(old) !== idOf(fresh))
    return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const keeps = (name) => name === "open" && old.nodeName === "DETAILS";
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
    place = target.nextSibling;
    morph(target, child);
  }
  while (place) { const next = place.nextSibling; place.remove(); place = next; }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html"), active = document.activeElement;
  morph(main, document.importNode(fresh.getElementById("main"), true));
  document.title = fresh.title;
  // An element that was moved has lost the focus.
  if (active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
  dates();
}

async function update() {
  if (isFetching || isPaused || document.hidden || !isDirty || document.querySelector("dialog[open]")) return;
  const wait = 1000 - (Date.now() - lastFetch);
  if (wait > 0) return setTimeout(update, wait);
  [isFetching, isDirty, lastFetch] = [true, false, Date.now()];
  try {
    const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 401) return location.reload();
    if (answer.status >= 500)
      throw new Error(answer.status === 503 ? "The coordinator does not answer" : "The console does not work");
    if (answer.status !== 304) show(await answer.text());
    [tag, problem] = [answer.headers.get("ETag") ?? tag, ""];
  } catch (error) {
    [problem, isDirty] = [error instanceof TypeError ? "The console does not answer" : error.message, true];
    setTimeout(update, 2000);
  }
  isFetching = false;
  say();
  if (isDirty && !problem) update();
}

function say() {
  live.textContent = problem ? problem + ": trying again" : isPaused ? "Paused" : "Live";
  pauseButton.setAttribute("aria-pressed", isPaused);
  live.className = problem ? "problem" : isPaused ? "paused" : "live";
}

function changed(topics) {
  const own = (main.dataset.topics ?? "").split(" ").filter(Boolean);
  isDirty ||= own.length > 0 && topics.some((topic) => [topic, "*"].some((one) => own.includes(one)) || topic === "*");
  update();
}

// ----- One stream for all tabs
const channel = new BroadcastChannel("baton" + location.port);
channel.onmessage = ({ data }) => changed(data);
function tell(topics) { channel.postMessage(topics); changed(topics); }
function follow() {
  const stream = new EventSource("/changes");
  stream.addEventListener("changes", (event) => tell(JSON.parse(event.data).topics));
  stream.onopen = () => tell(["*"]);
  stream.onerror = () => {
    tell(["*"]);
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}
if (pauseButton) {
  // Who has the lock leads until the tab is closed.
  navigator.locks.request("baton-stream", () => { follow(); return new Promise(() => {}); });
  [document.getElementById("refresh").hidden, pauseButton.hidden] = [true, false];
  pauseButton.onclick = () => {
    isPaused = !isPaused;
    sessionStorage.setItem("paused", isPaused ? "yes" : "no");
    isDirty ||= !isPaused;
    say();
    update();
  };
  say();
}
document.addEventListener("visibilitychange", update);

// ----- Times count on by themselves
const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
function dates() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const seconds = Math.round((Date.now() - Date.parse(time.dateTime)) / 1000);
    let rest = Math.max(1, Math.abs(seconds));
    const text = units.slice(units.findIndex(([, size]) => rest >= size)).slice(0, 2).map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count ? count + unit : "";
    }).join(" ").trim();
    time.textContent = time.dataset.ago === "age" ? text : seconds < 0 ? "in " + text : text + " ago";
  }
}
setInterval(() => { if (!document.hidden && !isPaused) dates(); }, 1000);

// ----- Questions above the page
async function ask(link) {
  const answer = await fetch(link.href);
  const form = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("question");
  if (!form) return location.assign(link.href);
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", form.querySelector("h1").textContent);
  dialog.append(document.importNode(form, true));
  dialog.onclose = () => { dialog.remove(); update(); };
  document.body.append(dialog);
  dialog.showModal();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-dialog], dialog a[data-close]"), dialog = link?.closest("dialog");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  dialog ? dialog.close() : ask(link);
});

// ----- Keys
const places = { o: "/", r: "/requests", q: "/queue", h: "/hosts", d: "/definitions", s: "/schedules",
  n: "/notifications", a: "/activity" };
function row(step) {
  const rows = [...document.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a"));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.querySelector("a").focus();
}
const keys = {
  "/": () => document.getElementById("search")?.focus(), "?": () => location.assign("/help"),
  j: () => row(1), k: () => row(-1), p: () => pauseButton?.click(), g: () => {},
  x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(),
  w: () => document.querySelector("a[data-key=w]")?.click(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  const act = isGoing && places[event.key] ? () => location.assign(places[event.key]) : keys[event.key];
  isGoing = event.key === "g";
  if (!act) return;
  event.preventDefault();
  act();
});
