// What this browser keeps of the review, and which of its windows the review is in.
const KEPT = "pairbench-review:" + data.packet;
const WINDOW = KEPT + ":window";
const SETTINGS = "pairbench-review-settings";
const me = Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
const settings = { singleKeys: true, rulesOpen: null };
let keeps = true;
let isElsewhere = false;

function read(name) {
  try {
    return localStorage.getItem(name);
  } catch (error) {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
    if (!keeps) warn("keeping", "");
    keeps = true;
  } catch (error) {
    keeps = false;
    warn("keeping", "This browser keeps nothing: export your decisions before you close the page.");
  }
}

// The newest window has the review. An older one is told, changes nothing any more, and writes over nothing.
function claim() { keep(WINDOW, me); }

function leave() {
  isElsewhere = true;
  warn("elsewhere", "This review goes on in another window. Nothing can be decided here any more.");
  showElsewhere();
}

function isMine() {
  const owner = read(WINDOW);
  if (!isElsewhere && owner !== null && owner !== me) leave();
  return !isElsewhere;
}

function save() {
  if (!isMine()) return;
  keep(KEPT, JSON.stringify({
    attested: byId("attest").checked, decisions: state.decisions, here: state.here, name: byId("name").value,
    steps: state.steps, times: state.times,
  }));
}

function saveSettings() { keep(SETTINGS, JSON.stringify(settings)); }

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return undefined;
  }
}

function loadSettings() {
  const given = parsed(read(SETTINGS));
  if (!isRecord(given)) return;
  if (typeof given.singleKeys === "boolean") settings.singleKeys = given.singleKeys;
  if (typeof given.rulesOpen === "boolean") settings.rulesOpen = given.rulesOpen;
}

// As far as what was kept can be read, it is there again; what can't be read is kept aside and told.
function load() {
  const text = read(KEPT);
  if (text === null) return;
  const given = parsed(text);
  const isWhole = isRecord(given) && Array.isArray(given.decisions) && given.decisions.length === entries.length;
  if (!isWhole) {
    keep(KEPT + ":unreadable", text);
    alarm("What this browser kept can't be read; decisions start afresh. If you have exported some, import them.");
    return;
  }
  state.decisions = given.decisions.map((one, number) => readDecision(entries[number], one));
  const isSame = (one, number) => isRecord(one) && one.decision === state.decisions[number].decision;
  const lost = given.decisions.filter((one, number) => !isSame(one, number)).length;
  if (lost) {
    keep(KEPT + ":unreadable", text);
    alarm(plural(lost, "decision", "decisions") + " that this browser kept can't be read; press F for what is undecided.");
  }
  if (Number.isInteger(given.here) && given.here in entries) state.here = given.here;
  if (Array.isArray(given.steps) && given.steps.every(isStep)) state.steps = given.steps.slice(-MOST_STEPS);
  const isTime = (ms) => Number.isFinite(ms) && ms >= 0 && ms <= MOST_MS;
  if (Array.isArray(given.times) && given.times.every(isTime)) state.times = given.times.slice(-MOST_TIMES);
  byId("name").value = typeof given.name === "string" ? given.name : "";
  byId("attest").checked = given.attested === true;
  if (decided()) say("Going on where you were: " + decided() + " of " + entries.length + " decided.");
}
