"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const entries = data.entries;
  const place = new Map(entries.map((entry, number) => [entry.entry, number]));
  const store = "pairbench-review:" + data.packet;
  const byId = (name) => document.getElementById(name);
  // decisions[n] is {decision, reference, note}; what is null is undecided.
  let decisions = entries.map(() => ({ decision: null, reference: null, note: "" }));
  let here = 0;
  let undone = [];
  let keeps = true;
  let times = [];
  let lastAt = performance.now();

  function make(name, text, className) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  function keysOf(marked) {
    return new Set(marked.filter((part) => Array.isArray(part)).map((part) => part[1] + " " + part[2]));
  }

  // `others` is what the other side has; null where nothing is compared.
  function fill(element, marked, others) {
    element.replaceChildren(...marked.map((part) => {
      if (!Array.isArray(part)) return document.createTextNode(part);
      const [text, kind, key] = part;
      const mark = make("mark", text, kind);
      if (others !== null && !others.has(kind + " " + key)) {
        mark.classList.add("differs");
        mark.title = kind + ", on this side only";
      } else {
        mark.title = kind;
      }
      return mark;
    }));
  }

  function supportText(support) {
    if (!support.length) return "no source";
    return support.map((source) => source < 0 ? "a source that isn't there" : "S" + (source + 1)).join(", ");
  }

  const letter = (number) => number < 26 ? String.fromCharCode(65 + number) : String(number + 1);

  function decided() { return decisions.filter((one) => one.decision !== null).length; }

  function say(text) { byId("status").textContent = text; }
  function alarm(text) { byId("alarm").textContent = text; }

  function timeLeft() {
    const left = entries.length - decided();
    if (!left) return "all decided";
    if (times.length < 3) return left + " left";
    const sorted = [...times].sort((one, other) => one - other);
    const minutes = Math.ceil(left * sorted[Math.floor(sorted.length / 2)] / 60000);
    return left + " left, about " + minutes + (minutes === 1 ? " minute" : " minutes");
  }

  function showProgress() {
    const bar = byId("progress");
    bar.max = Math.max(entries.length, 1);
    bar.value = decided();
    byId("progress-text").textContent = decided() + " of " + entries.length + " decided, " + timeLeft();
  }

  function words(one, entry) {
    if (one.decision === null) return "undecided";
    if (one.decision !== "equivalent") return one.decision.replace("_", " ");
    return "equivalent to " + (entry.references.findIndex((item) => item.reference === one.reference) + 1);
  }

  function showSources(entry) {
    byId("sources").replaceChildren(...entry.sources.map((source, number) => {
      const item = make("li");
      const cited = entry.support.includes(number);
      if (cited) item.className = "cited";
      const line = make("p");
      line.append(make("span", "S" + (number + 1), "label"));
      const text = make("span");
      fill(text, data.texts[source.text], null);
      line.append(text);
      const meta = "said by " + source.attribution + ", scope " + source.scope + ", event " + letter(source.event);
      item.append(line, make("p", meta + (cited ? ", cited by the candidate" : ""), "meta"));
      return item;
    }));
  }

  function showReferences(entry, chosen, candidateKeys) {
    byId("no-references").hidden = entry.references.length > 0;
    byId("references").replaceChildren(...entry.references.map((reference, number) => {
      const item = make("li");
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(chosen.reference === reference.reference));
      button.setAttribute("aria-keyshortcuts", String(number + 1));
      const line = make("span");
      line.append(make("kbd", String(number + 1)), document.createTextNode(" "));
      const text = make("span");
      fill(text, data.texts[reference.text], candidateKeys);
      line.append(text);
      const support = "rests on " + supportText(reference.support);
      button.append(line, make("span", support + (reference.exact ? ": as the candidate" : ": not as the candidate"), "meta"));
      if (!reference.exact) button.setAttribute("aria-disabled", "true");
      button.addEventListener("click", () => choose(number));
      item.append(button);
      return item;
    }));
  }

  function show(focus) {
    showProgress();
    if (!entries.length) {
      byId("heading").textContent = "There is nothing to review";
      return;
    }
    const entry = entries[here];
    const one = decisions[here];
    byId("heading").textContent = "Entry " + (here + 1) + " of " + entries.length + ": " + words(one, entry);
    const others = new Set(entry.references.flatMap((item) => [...keysOf(data.texts[item.text])]));
    fill(byId("candidate"), entry.candidate, entry.references.length ? others : null);
    byId("candidate-support").textContent = "rests on " + supportText(entry.support);
    showSources(entry);
    showReferences(entry, one, keysOf(entry.candidate));
    byId("not-equivalent").setAttribute("aria-pressed", String(one.decision === "not_equivalent"));
    byId("uncertain").setAttribute("aria-pressed", String(one.decision === "uncertain"));
    byId("note").value = one.note;
    if (focus) {
      const heading = byId("heading");
      heading.focus({ preventScroll: true });
      const box = heading.getBoundingClientRect();
      if (box.top < 0 || box.bottom > innerHeight) heading.scrollIntoView();
    }
  }

  function save() {
    try {
      localStorage.setItem(store, JSON.stringify({
        decisions: decisions, here: here, name: byId("name").value, attested: byId("attest").checked,
      }));
      keeps = true;
    } catch (error) {
      if (keeps) alarm("This browser keeps nothing: export your decisions before you close the page.");
      keeps = false;
    }
  }

  function readDecision(entry, given) {
    const found = { decision: null, reference: null, note: typeof given.note === "string" ? given.note : "" };
    if (given.decision === "not_equivalent" || given.decision === "uncertain") found.decision = given.decision;
    const isOwn = entry.references.some((item) => item.reference === given.reference && item.exact);
    if (given.decision === "equivalent" && isOwn) {
      found.decision = "equivalent";
      found.reference = given.reference;
    }
    return found;
  }

  function load() {
    let kept = null;
    try {
      kept = JSON.parse(localStorage.getItem(store));
    } catch (error) {
      alarm("What this browser kept can't be read; decisions start afresh.");
    }
    if (!kept || !Array.isArray(kept.decisions) || kept.decisions.length !== entries.length) return;
    decisions = kept.decisions.map((given, number) => readDecision(entries[number], given));
    here = Number.isInteger(kept.here) && kept.here >= 0 && kept.here < entries.length ? kept.here : 0;
    byId("name").value = typeof kept.name === "string" ? kept.name : "";
    byId("attest").checked = kept.attested === true;
    if (decided()) say("Going on where you were: " + decided() + " of " + entries.length + " decided.");
  }

  function remember() {
    undone.push({ decisions: decisions.map((one) => ({ ...one })), here: here });
    if (undone.length > 200) undone.shift();
  }

  function rememberOne() {
    undone.push({ number: here, one: { ...decisions[here] }, here: here });
    if (undone.length > 200) undone.shift();
  }

  function decide(decision, reference) {
    if (!entries.length) return;
    alarm("");
    rememberOne();
    const now = performance.now();
    if (decisions[here].decision === null) {
      times.push(Math.min(now - lastAt, 300000));
      if (times.length > 50) times.shift();
    }
    lastAt = now;
    decisions[here] = { decision: decision, reference: reference, note: decisions[here].note };
    say("Entry " + (here + 1) + ": " + words(decisions[here], entries[here]) + ".");
    if (here < entries.length - 1) here += 1;
    save();
    show(true);
    if (decided() === entries.length) say("All entries are decided. Press O to export.");
  }

  function choose(number) {
    const reference = entries.length ? entries[here].references[number] : undefined;
    if (!reference) {
      say("There is no reference " + (number + 1) + " here.");
    } else if (!reference.exact) {
      say("Reference " + (number + 1) + " rests on other sources than the candidate: it can't be equivalent.");
    } else {
      decide("equivalent", reference.reference);
    }
  }

  function undo() {
    const before = undone.pop();
    if (!before) {
      say("There is nothing to undo.");
      return;
    }
    if (before.decisions) decisions = before.decisions;
    else decisions[before.number] = before.one;
    here = before.here;
    save();
    show(true);
    say("Undone.");
  }

  function go(number) {
    if (number < 0 || number >= entries.length) {
      say(number < 0 ? "This is the first entry." : "This is the last entry.");
      return;
    }
    here = number;
    lastAt = performance.now();
    save();
    show(true);
    say("");
  }

  function firstUndecided() {
    const found = decisions.findIndex((one) => one.decision === null);
    if (found < 0) say("All entries are decided.");
    else go(found);
  }

  function overview(open) {
    byId("overview").hidden = !open;
    byId("entry-view").hidden = open;
    if (!open) {
      byId("list").replaceChildren();
      show(true);
      return;
    }
    byId("overview-text").textContent = decided() + " of " + entries.length + " entries are decided.";
    byId("list").replaceChildren(...entries.map((entry, number) => {
      const item = make("li");
      const button = make("button");
      button.type = "button";
      const text = entry.candidate.map((part) => Array.isArray(part) ? part[0] : part).join("");
      button.append(make("span", (number + 1) + ". " + words(decisions[number], entry), "state"), make("span", text));
      button.addEventListener("click", () => {
        here = number;
        overview(false);
      });
      item.append(button);
      return item;
    }));
    byId("overview-heading").focus();
  }

  function exported() {
    const attested = byId("attest").checked;
    return JSON.stringify({
      decisions: entries.map((entry, number) => ({
        decision: decisions[number].decision,
        entry: entry.entry,
        note: decisions[number].note,
        reference: decisions[number].reference,
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

  function download() {
    const link = make("a");
    const url = URL.createObjectURL(new Blob([exported()], { type: "application/json" }));
    link.href = url;
    link.download = "decisions-" + (byId("name").value.trim().replace(/[^A-Za-z0-9._-]+/g, "-") || "nobody") + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    const missing = [];
    if (decided() < entries.length) missing.push((entries.length - decided()) + " entries are undecided");
    if (!byId("name").value.trim()) missing.push("your name is missing");
    if (!byId("attest").checked) missing.push("the statement isn't confirmed");
    if (missing.length) alarm("Exported, but it can't be scored yet: " + missing.join(", ") + ".");
    else alarm("");
    say("Exported.");
  }

  function takeIn(text) {
    let given;
    try {
      given = JSON.parse(text);
    } catch (error) {
      alarm("The file isn't JSON; nothing was imported.");
      return;
    }
    if (!given || given.format !== data.format || given.version !== data.version || !Array.isArray(given.decisions)) {
      alarm("The file holds no decisions; nothing was imported.");
      return;
    }
    if (given.packet !== data.packet) {
      alarm("The decisions are about another packet; nothing was imported.");
      return;
    }
    const found = decisions.map((one) => ({ ...one }));
    let refused = 0;
    for (const one of given.decisions) {
      const number = place.get(one.entry);
      if (number === undefined) {
        refused += 1;
        continue;
      }
      found[number] = readDecision(entries[number], one);
      if (found[number].decision !== one.decision) refused += 1;
    }
    remember();
    decisions = found;
    const reviewer = given.reviewer || {};
    if (typeof reviewer.name === "string" && reviewer.name) byId("name").value = reviewer.name;
    save();
    overview(true);
    showProgress();
    alarm(refused ? refused + " decisions of the file aren't possible here and were left out." : "");
    say("Imported: " + decided() + " of " + entries.length + " decided.");
  }

  function toggleKeys() { byId("keys").hidden = !byId("keys").hidden; }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target;
    const inOverview = !byId("overview").hidden;
    const writes = target.tagName === "TEXTAREA" || (target.tagName === "INPUT" && target.type !== "checkbox");
    if (event.key === "Escape") {
      if (inOverview) overview(false);
      else byId("heading").focus();
      event.preventDefault();
      return;
    }
    if (writes) return;
    if (event.key === "?") toggleKeys();
    else if (inOverview) return;
    else if (event.key >= "1" && event.key <= "9") choose(Number(event.key) - 1);
    else if (event.key === "ArrowRight") go(here + 1);
    else if (event.key === "ArrowLeft") go(here - 1);
    else {
      switch (event.key.toLowerCase()) {
        case "n": decide("not_equivalent", null); break;
        case "u": decide("uncertain", null); break;
        case "z": undo(); break;
        case "f": firstUndecided(); break;
        case "o": overview(true); break;
        case "m": byId("note").focus(); break;
        default: return;
      }
    }
    event.preventDefault();
  }

  byId("rules").replaceChildren(...data.rules.map((rule) => make("li", rule)));
  byId("attestation").textContent = data.attestation;
  byId("not-equivalent").addEventListener("click", () => decide("not_equivalent", null));
  byId("uncertain").addEventListener("click", () => decide("uncertain", null));
  byId("undo").addEventListener("click", undo);
  byId("before").addEventListener("click", () => go(here - 1));
  byId("after").addEventListener("click", () => go(here + 1));
  byId("show-overview").addEventListener("click", () => overview(true));
  byId("show-keys").addEventListener("click", toggleKeys);
  byId("back").addEventListener("click", () => overview(false));
  byId("export").addEventListener("click", download);
  byId("name").addEventListener("input", save);
  byId("attest").addEventListener("change", save);
  byId("note").addEventListener("input", () => {
    if (!entries.length) return;
    decisions[here].note = byId("note").value;
    save();
  });
  byId("import").addEventListener("change", () => {
    const file = byId("import").files[0];
    if (file) file.text().then(takeIn, () => alarm("The file can't be read; nothing was imported."));
    byId("import").value = "";
  });
  document.addEventListener("keydown", onKey);
  addEventListener("beforeunload", (event) => {
    if (!keeps && decided()) event.preventDefault();
  });
  load();
  show(false);
  document.documentElement.dataset.ready = "yes";
})();
