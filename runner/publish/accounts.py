"""What became of every planned trial, what it all cost, and who answered, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.outcomes import CONSEQUENCES, Outcome
from runner.core.quantities import Measured
from runner.core.summary import Spend
from runner.publish import formatting
from runner.publish.listing import Listing, cell, code, figures, listing, words

if TYPE_CHECKING:
    from runner.core.summary import CensusRow, Summary

_CAPS_COUNT: Final = (
    "Cost is what is known, at list price. Caps count more: an answer that was cut, or whose usage or price isn't "
    "known, at its worst case; a long prompt at its highest rate; and every answer is rounded up by itself."
)


class Accounts:
    """The tables of one summary; one without lines isn't among them."""

    def __init__(self, summary: Summary) -> None:
        """Hold `summary`."""
        self._summary = summary
        self._arms = tuple(arm.name for arm in summary.arms)

    def arms(self) -> tuple[Listing, ...]:
        """What is compared."""
        return listing(
            "Arms of the study",
            words("Arm", "Role", "Memory", "Description"),
            [
                (arm.name, arm.role, "declared" if arm.memory else "none", formatting.one_line(arm.description))
                for arm in self._summary.arms
            ],
        )

    def census(self) -> tuple[Listing, ...]:
        """Outcomes by arm, by task, and block by block where one is incomplete."""
        return (*self._outcomes(), *self._tasks(), *self._incomplete())

    def _outcomes(self) -> tuple[Listing, ...]:
        counts = {(count.arm, count.outcome): count.trials for count in self._summary.census.by_arm}
        return listing(
            "Trials by outcome and arm",
            (*code("Outcome"), *figures(*self._arms), *words("Meaning", "In the figures")),
            [
                (
                    outcome.value,
                    *(f"{counts.get((arm, outcome), 0):,}" for arm in self._arms),
                    CONSEQUENCES[outcome].meaning,
                    _standing(outcome),
                )
                for outcome in CONSEQUENCES
                if any((arm, outcome) in counts for arm in self._arms)
            ],
        )

    def _tasks(self) -> tuple[Listing, ...]:
        by_task: dict[str, list[str]] = {}
        for count in self._summary.census.by_task:
            others = ", ".join(
                f"{number:,} {noun}" for number, noun in ((count.failed, "failed"), (count.other, "other")) if number
            )
            text = f"{count.completed:,} of {count.planned:,}"
            by_task.setdefault(count.task, []).append(f"{text} ({others})" if others else text)
        return listing(
            "Completed of planned trials, by task and arm",
            (*words("Task"), *figures(*self._arms)),
            [(task, *texts) for task, texts in by_task.items()],
        )

    def _incomplete(self) -> tuple[Listing, ...]:
        blocks: dict[str, dict[str, CensusRow]] = {}
        for row in self._summary.census.rows:
            if not row.block_complete:
                blocks.setdefault(row.block, {})[row.arm] = row
        census = self._summary.census
        return listing(
            f"Incomplete blocks: {census.blocks - census.complete_blocks:,} of {census.blocks:,}",
            (*code("Block", *self._arms), *words("Why")),
            [
                (name, *(_ended(rows[arm]) for arm in self._arms), "; ".join(_reasons(rows, self._arms)))
                for name, rows in blocks.items()
            ],
        )

    def usage(self) -> tuple[Listing, ...]:
        """Tokens by model, calls by tool, and all that was spent."""
        return (*self._models(), *self._tools(), *self._spend())

    def _models(self) -> tuple[Listing, ...]:
        blocks = formatting.counted(self._summary.census.complete_blocks, "complete block")
        return listing(
            f"Tokens by model, as the gateway observed them in {blocks}",
            (
                *words("Arm", "Asked by", "Model"),
                *figures("Requests", "Input", "Output", "Cache read", "Cache write 5 m", "Cache write 1 h"),
            ),
            [
                (
                    item.arm,
                    item.owner,
                    item.model,
                    f"{item.requests:,}",
                    *(
                        cell(known, lambda value: f"{value:,}")
                        for known in (
                            item.input_tokens,
                            item.output_tokens,
                            item.cache_read_input_tokens,
                            item.cache_write_5m_input_tokens,
                            item.cache_write_1h_input_tokens,
                        )
                    ),
                )
                for item in self._summary.models
            ],
        )

    def _tools(self) -> tuple[Listing, ...]:
        return listing(
            f"Tool calls in {formatting.counted(self._summary.census.complete_blocks, 'complete block')}",
            (*words("Arm"), *code("Tool"), *figures("Calls", "Errors")),
            [(item.arm, item.tool, f"{item.calls:,}", f"{item.errors:,}") for item in self._summary.tools],
        )

    def _spend(self) -> tuple[Listing, ...]:
        spend = self._summary.spend
        headings = ("Trials", "Attempts", "Repeated", "Tokens", "Cost", "Of it the memory's", "Counted by caps")
        lines = [(item.arm, *_spent(item)) for item in spend]
        if len(spend) > 1:
            lines.append(("all arms", *_spent(_together(spend))))
        return listing(
            "What all attempts used, failed and repeated ones included, at list price",
            (*words("Arm"), *figures(*headings)),
            lines,
            _CAPS_COUNT if any(isinstance(item.charged_microusd, Measured) for item in spend) else "",
        )


def _spent(item: Spend) -> tuple[str, ...]:
    charged = item.charged_microusd
    return (
        f"{item.trials:,}",
        f"{item.attempts:,}",
        f"{item.repeated:,}",
        f"{item.tokens:,}" + _unmeasured(item.attempts_without_tokens),
        formatting.dollars(item.cost_microusd) + _unmeasured(item.attempts_without_cost),
        formatting.dollars(item.memory_cost_microusd),
        # Where nothing is capped there is no such column.
        formatting.dollars(charged.value) + _ungranted(item.attempts_without_charge)
        if isinstance(charged, Measured)
        else "",
    )


def _together(spend: tuple[Spend, ...]) -> Spend:
    """The sums over all arms."""
    counts = [name for name in Spend.model_fields if name not in {"arm", "charged_microusd"}]
    known = [item.charged_microusd for item in spend if isinstance(item.charged_microusd, Measured)]
    return Spend(
        arm="",
        charged_microusd=Measured(sum(charge.value for charge in known)) if known else spend[0].charged_microusd,
        **{name: sum(getattr(item, name) for item in spend) for name in counts},
    )


def _standing(outcome: Outcome) -> str:
    consequence = CONSEQUENCES[outcome]
    if consequence.in_pairs:
        return "stands in its block"
    if consequence.failure:
        return "takes its block out; counts where failures are counted"
    return "takes its block out"


def _ended(row: CensusRow) -> str:
    return row.outcome.value if row.attempts <= 1 else f"{row.outcome.value} ({row.attempts:,} attempts)"


def _reasons(rows: dict[str, CensusRow], arms: tuple[str, ...]) -> list[str]:
    return [f"{arm}: {rows[arm].reason}" for arm in arms if rows[arm].reason]


def _unmeasured(count: int) -> str:
    return f" or more: {formatting.counted(count, 'attempt')} not wholly known" if count else ""


def _ungranted(count: int) -> str:
    return f" and the whole grant of {formatting.counted(count, 'attempt')}" if count else ""
