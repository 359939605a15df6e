"""Commands about blinded review: a run's output for people to judge, and what they decided."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import click

from runner import wiring
from runner.cli.progress import Watch
from runner.core.errors import ExitCode, StudyError
from runner.pipeline import contracts, reviewing, submitted
from runner.pipeline.folder import find_run

_FILE = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_WHICH = f"the {contracts.REGISTER} that lies beside the contract.toml which the run was made with"


@click.group()
def review() -> None:
    """Let people judge, blind, what a memory proposed, and hold what they decided against a contract."""


@review.command()
@click.argument("run")
@click.option("--out", required=True, type=_FILE, help="Folder to make for the review.")
@_JSON
def prepare(run: str, out: Path, *, as_json: bool) -> None:
    """Make the review of RUN: a public part for reviewers and a private one that unblinds it.

    `public` holds the packet, the form, decisions that nobody has made yet, and the commitment, to be published before
    anybody decides; `private` holds the key.
    """
    with Watch() as watch:
        world = wiring.make_world(watch)
        folder = find_run(world.files, world.places.runs, run, Path.cwd())
        made = reviewing.prepare(world, folder, out)
    if as_json:
        click.echo(json.dumps({"review": str(out), **asdict(made)}, sort_keys=True))
        return
    click.echo(f"{out}: {made.entries} entries")
    click.echo(f"give reviewers {out / reviewing.PUBLIC}, and keep {out / reviewing.PRIVATE} until they have decided")
    click.echo(f"publish now: key {made.key_sha256}, packet {made.packet_sha256}")


@review.command()
@click.argument("folder", metavar="DIR", type=_FILE)
@click.option("--decisions", multiple=True, type=_FILE, help="Decisions of one reviewer; may be given several times.")
@click.option("--out", type=_FILE, help="Folder to make for the assessment.  [default: DIR/assessment]")
@click.option("--run", help="The run, where it no longer is where it was.")
@click.option("--register", type=_FILE, help=f"Register of inspected holdouts: {_WHICH}.")
@click.option(
    "--floor",
    "floors",
    multiple=True,
    metavar="NAME=FILE",
    help="Newer file of the study that the floor NAME of the contract is of; may be given several times.",
)
@_JSON
def score(  # noqa: PLR0913 - one parameter an option
    folder: Path,
    decisions: tuple[Path, ...],
    out: Path | None,
    *,
    run: str | None,
    register: Path | None,
    floors: tuple[str, ...],
    as_json: bool,
) -> NoReturn:
    """Assess the decisions on the review in DIR, those of DIR/public/decisions.json where none are named.

    Exit 1 when a gate isn't passed: the assessment is written all the same. Exit 4 when packet, form, key, run or
    decisions aren't what they must be: nothing is written, and each fault is named.
    """
    if register is None:
        # None is taken for granted: a study marks its own register, or its next run may claim a fresh holdout again.
        raise StudyError(
            "it isn't said which register the run is marked in", document="--register", hint=f"give {_WHICH}"
        )
    with Watch() as watch:
        world = wiring.make_world(watch)
        scoring = reviewing.Scoring(
            review=folder,
            decisions=decisions or (folder / reviewing.DECISIONS,),
            out=out or folder / "assessment",
            register=register,
            floors=_floors(floors),
            run=None if run is None else find_run(world.files, world.places.runs, run, Path.cwd()),
        )
        found, text = reviewing.score(world, scoring)
    click.echo(found.to_bytes().decode("utf-8") if as_json else text, nl=False)
    sys.exit(ExitCode.DONE if found.passed else ExitCode.FINDING)


def _floors(told: tuple[str, ...]) -> dict[str, Path]:
    """Name of a floor -> the file that is given for it."""
    found: dict[str, Path] = {}
    for one in told:
        name, sign, path = one.partition("=")
        if not (name and sign and path) or name in found:
            problem = "it is given twice" if name in found else f"{one!r} isn't NAME=FILE"
            raise StudyError(problem, document="--floor", hint="give --floor NAME=FILE once for each floor")
        found[name] = Path(path)
    return found


@review.command()
@click.argument("file", metavar="DECISIONS", type=_FILE)
@click.option("--key", required=True, type=_FILE, help="Private SSH key of the reviewer.")
def sign(file: Path, key: Path) -> None:
    """Sign DECISIONS with the SSH key that the contract names, by `ssh-keygen -Y`; the signature lies beside them."""
    with Watch() as watch:
        place = submitted.sign(wiring.make_world(watch), file, key)
    click.echo(str(place))


@review.command()
@click.argument("terms", type=_FILE)
def contract(terms: Path) -> None:
    """Print the contract that the file TERMS comes to: what a run would be bound to now."""
    with Watch() as watch:
        made = contracts.freeze_contract(wiring.make_world(watch), terms)
    click.echo(made.to_bytes().decode("utf-8"), nl=False)
