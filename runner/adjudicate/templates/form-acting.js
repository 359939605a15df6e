// Keys, clicks and other windows: what is done here is done through `act`, so that no old news stand beside new ones.
function act(work) {
  say("");
  alarm("");
  work();
}

// What may only be done where the review is.
function change(work) {
  act(() => { if (isMine()) work(); });
}

// A second click of a double click is none: the next entry stands there already.
function onDecision(work) {
  return (event) => { if (event.detail < 2) change(work); };
}

function decide(decision, reference) {
  if (!entries.length) return;
  const number = settle(decision, reference);
  save();
  show(true);
  const isDone = decided() === entries.length;
  say(isDone ? "All entries are decided. Press O to export." : "Entry " + (number + 1) + ": " + words(number) + ".");
}

function choose(number) {
  const reference = entries.length ? entries[state.here].references[number] : undefined;
  if (!reference) {
    say("There is no reference " + (number + 1) + " here.");
  } else if (!reference.exact) {
    say("Reference " + (number + 1) + " rests on other sources than the candidate: it can't be equivalent.");
  } else {
    decide("equivalent", reference.reference);
  }
}

function undo() {
  const step = takeBack();
  if (!step) {
    say("There is nothing to undo.");
    return;
  }
  save();
  show(true);
  const number = step.changes[0][0];
  say(step.changes.length === 1 ? "Undone: entry " + (number + 1) + " is " + words(number) + " again." : "Undone: the import.");
}

function go(number) {
  if (number < 0 || number >= entries.length) {
    say(number < 0 ? "This is the first entry." : "This is the last entry.");
    return;
  }
  state.here = number;
  lastAt = performance.now();
  save();
  if (overviewIsOpen) showOverview(false);
  else show(true);
}

function firstUndecided() {
  const found = state.decisions.findIndex((one) => one.decision === null);
  if (found < 0) say("All entries are decided.");
  else go(found);
}

function list(number) {
  if (!FILTERS[number]) return;
  listed = FILTERS[number][0];
  showList();
  say(plural(byId("list").children.length, "entry", "entries") + ": " + FILTERS[number][1].toLowerCase() + ".");
  byId("filters").children[number].focus({ preventScroll: true });
  byId("filters").scrollIntoView();
}

function alongTheList(by) {
  const rows = [...byId("list").querySelectorAll("button")];
  const at = rows.indexOf(document.activeElement);
  const current = rows.findIndex((row) => row.getAttribute("aria-current") === "true");
  const next = at < 0 ? Math.max(current, 0) : Math.min(Math.max(at + by, 0), rows.length - 1);
  if (rows.length) rows[next].focus();
}

function toggleRules() {
  byId("rules-box").open = !byId("rules-box").open;
  keepRules();
}

// Known at once: the event of the browser comes later, and a reload may come first.
function keepRules() {
  if (byId("rules-box").open === rulesWereOpen) return;
  rulesWereOpen = byId("rules-box").open;
  settings.rulesOpen = rulesWereOpen;
  saveSettings();
}

function showKeys() { byId("keys").showModal(); }

function note() {
  byId("note").focus();
}

const EVERYWHERE = { "?": () => act(showKeys), "r": toggleRules, "f": () => act(firstUndecided), "z": () => change(undo) };
const AT_ENTRY = {
  n: () => change(() => decide("not_equivalent", null)),
  u: () => change(() => decide("uncertain", null)),
  o: () => act(() => showOverview(true)),
  m: () => act(note),
};
const AT_OVERVIEW = { o: () => act(() => showOverview(false)) };
for (const key of ["n", "u", "m"]) AT_OVERVIEW[key] = () => act(() => say("Decisions and notes are made at an entry: Enter opens one."));
for (let digit = 1; digit <= 9; digit += 1) {
  AT_ENTRY[digit] = () => change(() => choose(digit - 1));
  AT_OVERVIEW[digit] = () => act(() => list(digit - 1));
}
const ARROWS_AT_ENTRY = { ArrowRight: () => act(() => go(state.here + 1)), ArrowLeft: () => act(() => go(state.here - 1)) };
const ARROWS_AT_OVERVIEW = { ArrowDown: () => alongTheList(1), ArrowUp: () => alongTheList(-1) };

function commandOf(event) {
  if (event.key === "Escape") return () => overviewIsOpen ? act(() => showOverview(false)) : byId("heading").focus();
  const target = event.target;
  const writes = target.tagName === "TEXTAREA" || target.id === "name";
  if (writes) return undefined;
  const arrow = (overviewIsOpen ? ARROWS_AT_OVERVIEW : ARROWS_AT_ENTRY)[event.key];
  if (arrow) return arrow;
  // A key that is held down decides once: what follows wasn't read.
  if (!settings.singleKeys || event.repeat || event.key.length !== 1) return undefined;
  const key = event.key.toLowerCase();
  return (overviewIsOpen ? AT_OVERVIEW : AT_ENTRY)[key] || EVERYWHERE[key];
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (byId("ask").open) return;
  if (byId("keys").open) {
    if (event.key !== "?" || event.repeat) return;
    event.preventDefault();
    byId("keys").close();
    return;
  }
  const command = commandOf(event);
  if (!command) return;
  event.preventDefault();
  command();
}

function onNote() {
  if (!entries.length || !isMine()) return;
  state.decisions[state.here].note = byId("note").value;
  save();
}

function onImport() {
  const file = byId("import").files[0];
  byId("import").value = "";
  if (!file) return;
  act(() => {
    if (file.size > MOST_BYTES) alarm("The file is too large for decisions; nothing was imported.");
    else file.text().then(takeIn).catch(() => alarm("The file can't be read; nothing was imported."));
  });
}

function listen(name, kind, work) { byId(name).addEventListener(kind, work); }

function start() {
  showRules();
  loadSettings();
  showSettings();
  claim();
  load();
  show(false);
  listen("not-equivalent", "click", onDecision(() => decide("not_equivalent", null)));
  listen("uncertain", "click", onDecision(() => decide("uncertain", null)));
  listen("undo", "click", () => change(undo));
  listen("before", "click", () => act(() => go(state.here - 1)));
  listen("after", "click", () => act(() => go(state.here + 1)));
  listen("first", "click", () => act(firstUndecided));
  listen("show-overview", "click", () => act(() => showOverview(true)));
  listen("back", "click", () => act(() => showOverview(false)));
  listen("list", "click", (event) => {
    const row = event.target.closest("button");
    if (row) act(() => go(Number(row.dataset.entry)));
  });
  listen("show-keys", "click", () => act(showKeys));
  listen("close-keys", "click", () => byId("keys").close());
  listen("single-keys", "change", () => {
    settings.singleKeys = byId("single-keys").checked;
    document.body.classList.toggle("no-single-keys", !settings.singleKeys);
    saveSettings();
  });
  listen("rules-box", "toggle", keepRules);
  listen("export", "click", () => act(download));
  listen("import", "change", onImport);
  listen("take-over", "click", () => { byId("ask").close(); change(() => apply(false)); });
  listen("replace", "click", () => { byId("ask").close(); change(() => apply(true)); });
  listen("keep", "click", () => { byId("ask").close(); act(refuse); });
  listen("ask", "cancel", () => act(refuse));
  listen("name", "input", save);
  listen("attest", "change", save);
  listen("note", "input", onNote);
  listen("here", "click", () => location.reload());
  document.addEventListener("keydown", onKey);
  addEventListener("storage", (event) => { if (event.key === WINDOW) isMine(); });
  addEventListener("pageshow", () => isMine());
  document.addEventListener("visibilitychange", () => { lastAt = performance.now(); });
  addEventListener("beforeunload", (event) => {
    if (!keeps && state.decisions.some((one) => one.decision !== null || one.note)) event.preventDefault();
  });
  const watch = new ResizeObserver(measureEdges);
  watch.observe(byId("bar"));
  watch.observe(byId("rules-box"));
  addEventListener("resize", measureEdges);
  measureEdges();
  document.documentElement.dataset.ready = "yes";
}

start();
