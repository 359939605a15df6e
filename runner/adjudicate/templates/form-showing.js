// The page shows what is decided. Nothing here decides.
const standing = new Map();
let passing = "";
let listed = "all";
let overviewIsOpen = false;
let rulesWereOpen = false;
const FILTERS = [
  ["all", "All", () => true],
  ["undecided", "Undecided", (one) => one.decision === null],
  ["uncertain", "Uncertain", (one) => one.decision === "uncertain"],
  ["noted", "With a note", (one) => one.note !== ""],
  ["equivalent", "Equivalent", (one) => one.decision === "equivalent"],
  ["not_equivalent", "Not equivalent", (one) => one.decision === "not_equivalent"],
];

function byId(name) { return document.getElementById(name); }

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function say(text) { byId("status").textContent = text; }

function showAlarms() {
  const text = [...standing.values(), passing].filter(Boolean).join(" ");
  if (byId("alarm").textContent !== text) byId("alarm").textContent = text;
}

// Until the next thing that is done.
function alarm(text) {
  passing = text;
  showAlarms();
}

// Until it holds no more.
function warn(name, text) {
  standing.set(name, text);
  showAlarms();
}

function keysOf(marked) {
  return new Set(marked.filter((part) => Array.isArray(part)).map((part) => part[1] + " " + part[2]));
}

// What `marked` has and the other side hasn't; nothing where nothing is compared, which is null.
function onlyHere(marked, others) {
  if (others === null) return [];
  return marked.filter((part) => Array.isArray(part) && !others.has(part[1] + " " + part[2]));
}

function fill(element, marked, others) {
  const alone = new Set(onlyHere(marked, others));
  element.replaceChildren(...marked.map((part) => {
    if (!Array.isArray(part)) return document.createTextNode(part);
    const mark = make("mark", part[0], part[1]);
    if (alone.has(part)) mark.classList.add("differs");
    mark.title = part[1] + (alone.has(part) ? ", on this side only" : "");
    return mark;
  }));
}

function toldOnly(marked, others) {
  return onlyHere(marked, others).map((part) => part[1] + " " + part[0]).join(", ");
}

function supportText(support) {
  if (!support.length) return "no source";
  return support.map((source) => source < 0 ? "a source that isn't there" : "S" + (source + 1)).join(", ");
}

function letter(number) { return number < 26 ? String.fromCharCode(65 + number) : String(number + 1); }

function showProgress() {
  byId("progress").max = Math.max(entries.length, 1);
  byId("progress").value = decided();
  byId("progress-text").textContent = decided() + " of " + entries.length + " decided, " + timeLeft();
}

function showSources(entry) {
  byId("sources").replaceChildren(...entry.sources.map((source, number) => {
    const item = make("li");
    const cited = entry.support.includes(number);
    if (cited) item.className = "cited";
    const line = make("p");
    const text = make("span");
    fill(text, data.texts[source.text], null);
    line.append(make("span", "S" + (number + 1), "label"), " ", text);
    const meta = "said by " + source.attribution + ", scope " + source.scope + ", event " + letter(source.event);
    item.append(line, make("p", meta + (cited ? ", cited by the candidate" : ""), "meta"));
    return item;
  }));
}

function showReferences(entry, chosen, candidateKeys) {
  byId("no-references").hidden = entry.references.length > 0;
  byId("references").replaceChildren(...entry.references.map((reference, number) => {
    const marked = data.texts[reference.text];
    const item = make("li");
    const button = make("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(chosen.reference === reference.reference));
    const line = make("span");
    line.append(make("span", String(number + 1), "label"), " ");
    const text = make("span");
    fill(text, marked, candidateKeys);
    line.append(text);
    const meta = make("span", "rests on " + supportText(reference.support), "meta");
    meta.append(reference.exact ? ": as the candidate" : ": not as the candidate, so it can't be chosen");
    const only = toldOnly(marked, candidateKeys);
    if (only) meta.append(make("span", ". In this reference only: " + only, "unseen"));
    button.append(line, meta);
    if (!reference.exact) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", onDecision(() => choose(number)));
    item.append(button);
    return item;
  }));
}

// The same choices where the thumb is.
function showQuick(entry, chosen) {
  byId("quick").replaceChildren(...entry.references.map((reference, number) => {
    const button = make("button");
    button.append(make("span", "Equivalent to " + (number + 1), "long"), make("span", "= " + (number + 1), "short"));
    button.type = "button";
    button.setAttribute("aria-label", "Equivalent to " + (number + 1));
    button.setAttribute("aria-pressed", String(chosen.reference === reference.reference));
    button.append(make("kbd", String(number + 1)));
    if (!reference.exact) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", onDecision(() => choose(number)));
    return button;
  }));
}

function showEntry() {
  const number = state.here;
  const entry = entries[number];
  const one = state.decisions[number];
  byId("heading").textContent = "Entry " + (number + 1) + " of " + entries.length + ": " + words(number);
  const others = new Set(entry.references.flatMap((item) => [...keysOf(data.texts[item.text])]));
  const compared = entry.references.length ? others : null;
  fill(byId("candidate"), entry.candidate, compared);
  const only = toldOnly(entry.candidate, compared);
  byId("candidate-only").textContent = only ? "In the candidate and in no reference: " + only : "";
  byId("candidate-support").textContent = "rests on " + supportText(entry.support);
  showSources(entry);
  showReferences(entry, one, keysOf(entry.candidate));
  showQuick(entry, one);
  byId("not-equivalent").setAttribute("aria-pressed", String(one.decision === "not_equivalent"));
  byId("uncertain").setAttribute("aria-pressed", String(one.decision === "uncertain"));
  byId("note").value = one.note;
}

function show(focus) {
  showProgress();
  if (overviewIsOpen) {
    showList();
    return;
  }
  if (entries.length) showEntry();
  else byId("heading").textContent = "There is nothing to review";
  if (focus) focusHeading();
}

// What sticks to the edges of the window covers what is beneath it.
function focusHeading() {
  const heading = byId("heading");
  heading.focus({ preventScroll: true });
  const box = heading.getBoundingClientRect();
  const above = parseFloat(document.documentElement.style.getPropertyValue("--above")) || 0;
  if (box.top < above || box.bottom > innerHeight / 2) heading.scrollIntoView();
}

function showList() {
  byId("filters").replaceChildren(...FILTERS.map(([name, title, holds], number) => {
    const button = make("button", title + " " + state.decisions.filter(holds).length + " ");
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === listed));
    button.append(make("kbd", String(number + 1)));
    button.addEventListener("click", () => act(() => list(number)));
    return button;
  }));
  const holds = FILTERS.find(([name]) => name === listed)[2];
  const shown = state.decisions.map((one, number) => number).filter((number) => holds(state.decisions[number]));
  byId("none-listed").hidden = shown.length > 0;
  byId("list").replaceChildren(...shown.map((number) => {
    const item = make("li");
    const button = make("button");
    button.type = "button";
    button.dataset.entry = String(number);
    if (number === state.here) button.setAttribute("aria-current", "true");
    const text = entries[number].candidate.map((part) => Array.isArray(part) ? part[0] : part).join("");
    button.append(make("span", (number + 1) + ". " + words(number), "state"));
    const note = state.decisions[number].note;
    if (note) {
      const noted = make("span", "note", "noted");
      noted.title = note;
      button.append(noted);
    }
    button.append(make("span", text, "text"));
    item.append(button);
    return item;
  }));
}

function showOverview(open) {
  overviewIsOpen = open;
  byId("overview").hidden = !open;
  byId("entry-view").hidden = open;
  document.body.classList.toggle("in-overview", open);
  if (!open) byId("list").replaceChildren();
  show(!open);
  if (open) {
    byId("overview-heading").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function showElsewhere() {
  byId("elsewhere").hidden = false;
  for (const name of ["note", "name"]) byId(name).readOnly = true;
  byId("attest").disabled = true;
}

function showSettings() {
  byId("single-keys").checked = settings.singleKeys;
  document.body.classList.toggle("no-single-keys", !settings.singleKeys);
  const isRoomy = innerHeight > 480;
  byId("rules-box").open = settings.rulesOpen === null ? isRoomy : settings.rulesOpen;
  rulesWereOpen = byId("rules-box").open;
}

// Each rule up to where it goes into detail.
function inShort(rule) { return rule.split(/[,:;.]/)[0]; }

function showRules() {
  byId("rules").replaceChildren(...data.rules.map((rule) => make("li", rule)));
  byId("rules-short").textContent = data.rules.map(inShort).join(" · ");
  byId("attestation").textContent = data.attestation;
}

// How high what sticks is, for what scrolls beneath it.
function measureEdges() {
  const style = document.documentElement.style;
  const high = (element) => getComputedStyle(element).position === "sticky" ? element.offsetHeight + 8 : 0;
  style.setProperty("--above", high(byId("rules-box")) + "px");
  style.setProperty("--below", high(byId("bar")) + "px");
}
