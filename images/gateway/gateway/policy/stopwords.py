"""Which words of a question tell nothing about where its answer stands? A list, and no more."""

from __future__ import annotations

# One text is easier to read and to change than a hundred quoted words.
STOPWORDS = frozenset(
    """
    about above according across actually after again against also although always among another answer answers
    around available based because become becomes been before being below between both cannot case cases cite
    cites code could current decide decided define defined defines definition describe described describes
    detail details differ different directory does doing done down during each either else enough even ever
    every exact exactly example explain explained file files find first folder following from function gets give
    given gives happen happened happens have having here however into instead just keep kind know last less lets
    line lines list look made make makes many mean means might more most much must name named need needs never
    none note notes only other others over package passage passages path paths place point possible project
    question questions quote rather read reason really repository same says show shows since some something
    source sources still such take takes tell than that their them then there these they thing this those though
    through under until upon used uses using very want what when where whether which while whole whose will with
    within without work works workspace would your
    """.split()  # noqa: SIM905
)
