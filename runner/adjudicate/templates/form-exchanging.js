// Decisions leave as a file and come in from one. What comes in drops nothing that nobody agreed to drop.
const MOST_BYTES = 50000000;
let pending = null;

function exported() {
  const attested = byId("attest").checked;
  return JSON.stringify({
    decisions: entries.map((entry, number) => ({
      decision: state.decisions[number].decision,
      entry: entry.entry,
      note: state.decisions[number].note,
      reference: state.decisions[number].reference,
    })),
    format: data.format,
    packet: data.packet,
    reviewer: {
      attestation: attested ? data.attestation : "",
      kind: attested ? "human" : null,
      name: byId("name").value.trim(),
    },
    version: data.version,
  }) + "\n";
}

// How many notes and names had half of a character, which stands there as a replacement now.
function mend() {
  let mended = 0;
  for (const one of state.decisions) {
    if (whole(one.note) === one.note) continue;
    one.note = whole(one.note);
    mended += 1;
  }
  const name = byId("name");
  if (whole(name.value) !== name.value) {
    name.value = whole(name.value);
    mended += 1;
  }
  if (mended) save();
  return mended;
}

function download() {
  if (!isMine()) return;
  const mended = mend();
  const link = make("a");
  const url = URL.createObjectURL(new Blob([exported()], { type: "application/json" }));
  link.href = url;
  link.download = "decisions-" + (byId("name").value.trim().replace(/[^A-Za-z0-9._-]+/g, "-") || "nobody") + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  const left = entries.length - decided();
  const missing = [];
  if (left) missing.push(plural(left, "entry is", "entries are") + " undecided");
  if (!byId("name").value.trim()) missing.push("your name is missing");
  if (!byId("attest").checked) missing.push("the statement isn't confirmed");
  const told = [];
  if (missing.length) told.push("Exported, but it can't be scored yet: " + missing.join(", ") + ".");
  if (mended) told.push("Half of a character stood in " + plural(mended, "text", "texts") + ": it is \ufffd now.");
  alarm(told.join(" "));
  say("Exported.");
}

// What a file decides, entry by entry; null where it says nothing of an entry that can be said. `fault`: it can't be used.
function readFile(text) {
  const given = parsed(text);
  if (given === undefined) return { fault: "The file isn't JSON" };
  const isOurs = isRecord(given) && given.format === data.format && given.version === data.version;
  if (!isOurs || !Array.isArray(given.decisions)) return { fault: "The file holds no decisions" };
  if (given.packet !== data.packet) return { fault: "The decisions are about another packet" };
  const found = entries.map(blank);
  const seen = new Set();
  let refused = 0;
  for (const [index, one] of given.decisions.entries()) {
    if (!isRecord(one) || typeof one.entry !== "string") return { fault: "Number " + (index + 1) + " of the file is no decision" };
    const number = place.get(one.entry);
    if (seen.has(one.entry)) {
      return { fault: number === undefined ? "An entry stands twice in the file" : "Entry " + (number + 1) + " stands twice in the file" };
    }
    seen.add(one.entry);
    const decision = number === undefined ? null : readDecision(entries[number], one);
    if (decision === null || decision.decision !== one.decision) refused += 1;
    if (number !== undefined) found[number] = decision.decision === one.decision ? decision : null;
  }
  const name = isRecord(given.reviewer) && typeof given.reviewer.name === "string" ? given.reviewer.name : "";
  return { fault: "", found: found, refused: refused, name: name };
}

function isSame(one, other) { return one.decision === other.decision && one.reference === other.reference; }

// What would become of what is here.
function differences(found) {
  const count = { added: 0, changed: 0, dropped: 0, notesAdded: 0, notesChanged: 0, notesDropped: 0 };
  for (const [number, theirs] of found.entries()) {
    const mine = state.decisions[number];
    if (theirs === null) continue;
    if (!isSame(mine, theirs)) {
      count[mine.decision === null ? "added" : theirs.decision === null ? "dropped" : "changed"] += 1;
    }
    if (mine.note !== theirs.note) {
      count[mine.note === "" ? "notesAdded" : theirs.note === "" ? "notesDropped" : "notesChanged"] += 1;
    }
  }
  return count;
}

function takeIn(text) {
  if (!isMine()) return;
  const given = readFile(text);
  if (given.fault) {
    alarm(given.fault + "; nothing was imported.");
    return;
  }
  const count = differences(given.found);
  const name = byId("name").value.trim();
  const isOther = given.name !== "" && name !== "" && given.name !== name;
  pending = { ...given, count: count };
  const isHarmless = !count.changed && !count.dropped && !count.notesChanged && !count.notesDropped && !isOther;
  if (isHarmless) apply(false);
  else ask(count, isOther ? "The file is by " + JSON.stringify(given.name) + ", and this review by " + JSON.stringify(name) + ". " : "");
}

function ask(count, who) {
  const told = [];
  if (count.added) told.push("decides " + plural(count.added, "entry", "entries") + " that you left undecided");
  if (count.changed) told.push("decides " + plural(count.changed, "entry", "entries") + " otherwise than you did");
  if (count.dropped) told.push("leaves " + plural(count.dropped, "entry", "entries") + " undecided that you decided");
  if (count.notesAdded) told.push("has " + plural(count.notesAdded, "note", "notes") + " where you have none");
  if (count.notesChanged) told.push("has " + plural(count.notesChanged, "other note", "other notes"));
  if (count.notesDropped) told.push("lacks " + plural(count.notesDropped, "note", "notes") + " of yours");
  byId("ask-text").textContent = who + "The file " + (told.join(", ") || "decides what is decided here") + ".";
  byId("take-over").textContent = "Take over what it decides: " + count.added + " new, " + count.changed + " changed";
  byId("take-over").hidden = !count.added && !count.changed && !count.notesAdded && !count.notesChanged;
  byId("replace").hidden = !count.dropped && !count.notesDropped;
  byId("replace").textContent = "Make all as in the file: " + plural(count.dropped, "decision", "decisions") + " and "
    + plural(count.notesDropped, "note", "notes") + " of yours are dropped";
  byId("ask").showModal();
  byId("keep").focus();
}

function refuse() {
  pending = null;
  say("Nothing was imported.");
}

// With `all`, what the file leaves open becomes open; without, it stays as it is here.
function apply(all) {
  if (!pending || !isMine()) return;
  const { found, count, name, refused } = pending;
  pending = null;
  const changes = [];
  for (const [number, theirs] of found.entries()) {
    if (theirs === null) continue;
    const mine = state.decisions[number];
    const decision = all || theirs.decision !== null ? theirs : mine;
    const note = all || theirs.note !== "" ? theirs.note : mine.note;
    if (isSame(mine, decision) && mine.note === note) continue;
    changes.push([number, mine.decision, mine.reference, mine.note, note]);
    state.decisions[number] = { decision: decision.decision, reference: decision.reference, note: note };
  }
  if (changes.length) remember(changes);
  if (!byId("name").value.trim()) byId("name").value = name;
  // Whoever imports confirms anew: they didn't make these decisions in this window.
  byId("attest").checked = false;
  save();
  showOverview(true);
  alarm(refused ? plural(refused, "decision of the file isn't", "decisions of the file aren't") + " possible here, and left out." : "");
  const notes = count.notesAdded + count.notesChanged + (all ? count.notesDropped : 0);
  say("Imported: " + count.added + " added, " + count.changed + " changed, " + (all ? count.dropped : 0) + " dropped, "
    + plural(notes, "note", "notes") + "; " + decided() + " of " + entries.length + " decided. Confirm the statement again.");
}
