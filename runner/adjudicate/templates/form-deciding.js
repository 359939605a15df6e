// What is decided, what was before, and how long it takes. Nothing here touches the page.
const data = JSON.parse(document.getElementById("data").textContent);
const entries = data.entries;
const place = new Map(entries.map((entry, number) => [entry.entry, number]));
const MOST_STEPS = 200;
const MOST_TIMES = 50;
// Longer than this, and nobody was there.
const MOST_MS = 300000;

// decisions[n] is {decision, reference, note}; what is null is undecided. A step is {here, changes}, a change is
// [number, decision, reference] of before, and where notes changed too [..., note before, note after].
const state = { decisions: entries.map(blank), here: 0, steps: [], times: [] };
let lastAt = performance.now();

function blank() { return { decision: null, reference: null, note: "" }; }

function plural(count, one, many) { return count + " " + (count === 1 ? one : many); }

function decided() { return state.decisions.filter((one) => one.decision !== null).length; }

function words(number) {
  const one = state.decisions[number];
  if (one.decision === null) return "undecided";
  if (one.decision !== "equivalent") return one.decision.replace("_", " ");
  return "equivalent to " + (entries[number].references.findIndex((item) => item.reference === one.reference) + 1);
}

function timeLeft() {
  const left = entries.length - decided();
  if (!left) return "all decided";
  if (state.times.length < 3) return left + " left";
  const sorted = [...state.times].sort((one, other) => one - other);
  const minutes = Math.max(1, Math.round(left * sorted[Math.floor(sorted.length / 2)] / 60000));
  return left + " left, about " + plural(minutes, "minute", "minutes");
}

function remember(changes) {
  state.steps.push({ here: state.here, changes: changes });
  if (state.steps.length > MOST_STEPS) state.steps.shift();
}

// The entry that is looked at has this decision, and the one after it is looked at.
function settle(decision, reference) {
  const number = state.here;
  const before = state.decisions[number];
  const now = performance.now();
  if (before.decision === null) {
    state.times.push(Math.round(Math.min(now - lastAt, MOST_MS)));
    if (state.times.length > MOST_TIMES) state.times.shift();
  }
  lastAt = now;
  remember([[number, before.decision, before.reference]]);
  state.decisions[number] = { decision: decision, reference: reference, note: before.note };
  if (number < entries.length - 1) state.here += 1;
  return number;
}

// The last step is taken back: decisions, and of notes those that it wrote and nobody changed since.
function takeBack() {
  const step = state.steps.pop();
  if (!step) return null;
  for (const [number, decision, reference, noteBefore, noteAfter] of step.changes) {
    const one = state.decisions[number];
    const note = noteBefore !== undefined && one.note === noteAfter ? noteBefore : one.note;
    state.decisions[number] = { decision: decision, reference: reference, note: note };
  }
  state.here = step.here;
  return step;
}

function isRecord(value) { return typeof value === "object" && value !== null && !Array.isArray(value); }

// What `given` says of an entry, as far as it can be said of it; a reference of another entry or with other support can't.
function readDecision(entry, given) {
  if (!isRecord(given)) return blank();
  const found = { decision: null, reference: null, note: typeof given.note === "string" ? given.note : "" };
  if (given.decision === "not_equivalent" || given.decision === "uncertain") found.decision = given.decision;
  const isOwn = entry.references.some((item) => item.reference === given.reference && item.exact);
  if (given.decision === "equivalent" && isOwn) {
    found.decision = "equivalent";
    found.reference = given.reference;
  }
  return found;
}

function isStep(given) {
  const isChange = (change) => Array.isArray(change) && change[0] in entries
    && readDecision(entries[change[0]], { decision: change[1], reference: change[2] }).decision === change[1]
    && change.slice(3).every((note) => typeof note === "string");
  return isRecord(given) && given.here in entries && Array.isArray(given.changes) && given.changes.every(isChange);
}

// Half of a character can't be written into a file that others read.
function whole(text) { return text.replace(/\p{Cs}/gu, "\ufffd"); }
