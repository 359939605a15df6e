"""How well was one observation of a memory? Scorer v1, which is frozen: a change of any rule here is another scorer.

It imports nothing but the standard library, so that its digest covers all of it. A case and an observation are plain
dictionaries, as `docs/reference/reconsolidation.md` describes them; every count is an integer.

Rules:

- A *group* says that seeds are one fact. Overlapping groups are one component (transitive closure). Each pair of seeds
  of a component that no duplicate class holds is a false merge pair.
- A duplicate class is covered when a component has exactly its members, and no invalid group is part of the component.
- A required survivor that no fact of the store stands for is a lost fact.
- A hypothesis matches a reference when both texts are equal after NFC and folding of white space, and both supports
  are the same set. Each reference is matched at most once; every hypothesis beyond that counts as produced only.
- A probe is covered when its answer has the token F1 of 1 to one of the accepted answers: the same tokens, each as
  often. A token is what stands between white space, after NFC and case folding, without the marks that end and enclose
  sentences at its ends; a sign, a unit or an accent within it stays.
- What can't be read as an observation of this case is counted as invalid, and earns nothing: unknown ids, groups of
  fewer than two, repeated members, hypotheses whose support is empty, repeated or unknown, unknown or repeated probes,
  repeated survivors. What an invalid group merges wrongly counts as that too: being invalid hides nothing.
- A boundary violation is what the observation lists, and each seed that isn't live among members, survivors or support
  which it doesn't list.
- Counts are summed over cases before anything is divided. A share of nothing is undefined, and no success: so a system
  that abstains everywhere fails.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import combinations
from typing import Any

VERSION = "reconsolidation-1"
COUNTS = (
    "cases",
    "false_merge_pairs",
    "lost_facts",
    "required_survivors",
    "duplicate_classes_covered",
    "duplicate_classes",
    "hypotheses_matched",
    "hypotheses_produced",
    "hypotheses_expected",
    "probes_covered",
    "probes",
    "invalid_observations",
    "boundary_violations",
)
NONE_OF = ("false_merge_pairs", "lost_facts", "boundary_violations", "invalid_observations")
# Name, the counts above and below the line, and the least share in hundredths.
SHARES = (
    ("duplicate_coverage", "duplicate_classes_covered", "duplicate_classes", 80),
    ("precision", "hypotheses_matched", "hypotheses_produced", 80),
    ("recall", "hypotheses_matched", "hypotheses_expected", 60),
)
ANSWER_COVERAGE = ("answer_coverage", "probes_covered", "probes", 0)
_ENDS = ".,;:!?\"'()[]{}\u00ab\u00bb\u2018\u2019\u201c\u201d\u2026"


def folded(text: str) -> str:
    """`text` in NFC, white space folded to single blanks, none at its ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def tokens(text: str) -> Counter[str]:
    """How often each token is in `text`."""
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return Counter(token for word in plain.split() if (token := word.strip(_ENDS)))


def same_tokens(answer: str, accepted: str) -> bool:
    """The token F1 of both texts is 1; two texts without any token are never the same."""
    found = tokens(answer)
    return bool(found) and found == tokens(accepted)


def components(groups: list[set[str]]) -> list[frozenset[str]]:
    """The transitive closure of overlapping groups, in no order."""
    found: list[set[str]] = []
    for group in groups:
        merged = set(group)
        apart = []
        for other in found:
            if merged & other:
                merged |= other
            else:
                apart.append(other)
        found = [*apart, merged]
    return [frozenset(one) for one in found]


def score(case: dict[str, Any], observation: dict[str, Any]) -> dict[str, int]:
    """Every count of `COUNTS` for one case.

    `case` holds `seeds`, `duplicate_classes`, `required_survivors`, `hypotheses` and `probes`; `observation` holds
    `groups`, `survivors`, `hypotheses`, `answers`, `boundary_violations` and `invalid`.
    """
    known = {seed["id"] for seed in case["seeds"]}
    good, bad = _groups(observation["groups"], known)
    hypotheses, bad_hypotheses = _hypotheses(observation["hypotheses"], known)
    _, bad_answers = _answers(observation["answers"], {probe["id"] for probe in case["probes"]})
    survivors = Counter(observation["survivors"])
    bad_survivors = sum(often if seed not in known else often - 1 for seed, often in survivors.items())
    classes = [frozenset(members) for members in case["duplicate_classes"]]
    allowed = {pair for members in classes for pair in combinations(sorted(members), 2)}
    merged = components([*good, *(group & known for group in bad)])
    tainted = set().union(*bad)
    sound = [members for members in merged if not members & tainted]
    pairs = {pair for members in merged for pair in combinations(sorted(members), 2)}
    return {
        "cases": 1,
        "false_merge_pairs": len(pairs - allowed),
        "lost_facts": sum(1 for seed in case["required_survivors"] if not survivors[seed]),
        "required_survivors": len(case["required_survivors"]),
        "duplicate_classes_covered": sum(1 for members in classes if members in sound),
        "duplicate_classes": len(classes),
        "hypotheses_matched": _matched(case["hypotheses"], hypotheses),
        "hypotheses_produced": len(observation["hypotheses"]),
        "hypotheses_expected": len(case["hypotheses"]),
        "probes_covered": len(covered(case, observation)),
        "probes": len(case["probes"]),
        "invalid_observations": (len(bad) + bad_hypotheses + bad_answers + bad_survivors + len(observation["invalid"])),
        "boundary_violations": _violations(case, observation),
    }


def covered(case: dict[str, Any], observation: dict[str, Any]) -> list[str]:
    """The ids of the probes whose answer is one of those that are accepted, in the order of the case."""
    answers, _ = _answers(observation["answers"], {probe["id"] for probe in case["probes"]})
    return [
        probe["id"]
        for probe in case["probes"]
        if any(same_tokens(answers.get(probe["id"], ""), accepted) for accepted in probe["answers"])
    ]


def total(scores: list[dict[str, int]]) -> dict[str, int]:
    """The sum of every count."""
    return {name: sum(one[name] for one in scores) for name in COUNTS}


def verdict(totals: dict[str, int]) -> dict[str, Any]:
    """What `totals` come to: each rule with its figures and whether it is met, and `passed`: all of them are.

    A share is in parts per million, rounded down, or "undefined" where there is nothing to divide by; whether it is
    met follows from the counts. Answer coverage has no threshold of its own but must be defined and above zero.
    """
    checks: dict[str, Any] = {name: {"count": totals[name], "met": totals[name] == 0} for name in NONE_OF}
    for name, above, below, least in (*SHARES, ANSWER_COVERAGE):
        part, whole = totals[above], totals[below]
        checks[name] = {
            "count": part,
            "of": whole,
            "share_ppm": part * 1_000_000 // whole if whole else "undefined",
            "met": part > 0 and whole > 0 and part * 100 >= least * whole,
        }
    return {"scorer": VERSION, "checks": checks, "passed": all(check["met"] for check in checks.values())}


def _groups(groups: list[list[str]], known: set[str]) -> tuple[list[set[str]], list[set[str]]]:
    """The groups that say something of this case, and those that don't."""
    good: list[set[str]] = []
    bad: list[set[str]] = []
    for group in groups:
        members = set(group)
        is_good = len(group) >= 2 and len(members) == len(group) and members <= known
        (good if is_good else bad).append(members)
    return good, bad


def _hypotheses(hypotheses: list[dict[str, Any]], known: set[str]) -> tuple[list[tuple[str, frozenset[str]]], int]:
    """Text and support of the hypotheses that say something of this case, and how many don't."""
    good = []
    for hypothesis in hypotheses:
        support = hypothesis["support"]
        if support and len(set(support)) == len(support) and set(support) <= known:
            good.append((folded(hypothesis["statement"]), frozenset(support)))
    return good, len(hypotheses) - len(good)


def _answers(answers: list[dict[str, str]], probes: set[str]) -> tuple[dict[str, str], int]:
    """The answer of each probe that has exactly one, and how many entries can't be read so."""
    often = Counter(answer["probe"] for answer in answers)
    good = {
        answer["probe"]: answer["answer"]
        for answer in answers
        if answer["probe"] in probes and often[answer["probe"]] == 1
    }
    return good, len(answers) - len(good)


def _matched(references: list[dict[str, Any]], hypotheses: list[tuple[str, frozenset[str]]]) -> int:
    """How many references are matched, each by a hypothesis of its own."""
    left = Counter(hypotheses)
    matched = 0
    for reference in references:
        key = (folded(reference["meaning"]), frozenset(reference["support"]))
        if left[key]:
            left[key] -= 1
            matched += 1
    return matched


def _violations(case: dict[str, Any], observation: dict[str, Any]) -> int:
    """How often something rests on a seed that isn't live."""
    dead = {seed["id"] for seed in case["seeds"] if seed["status"] != "live"}
    listed = {(one["kind"], one["seed"]) for one in observation["boundary_violations"]}
    members = {seed for group in observation["groups"] for seed in group} | set(observation["survivors"])
    support = {seed for hypothesis in observation["hypotheses"] for seed in hypothesis["support"]}
    found = {("member", seed) for seed in members & dead} | {("support", seed) for seed in support & dead}
    return len(observation["boundary_violations"]) + len(found - listed)
