"""The catalogue of artefacts: everything the paper shows, and a few of ours."""

from __future__ import annotations

from collections.abc import Mapping

from soel.errors import ConfigError
from soel_reproduction import methods as m
from soel_reproduction.artefact import Artefact
from soel_reproduction.artefacts_ablations import ABLATIONS
from soel_reproduction.artefacts_main import F1, MAIN, TABLES, THEORY
from soel_reproduction.cells import Expert
from soel_reproduction.claims import Claim, alike

MISJUDGED = tuple(m.Method(f"share off by {100 * off:+g}", given_share=off) for off in (-0.05, 0.0, 0.05))

OURS = (
    Artefact(
        "misjudged-share", "", "The share of anomalies told wrongly by 5 points", TABLES, MISJUDGED, F1,
        claims=(
            Claim("5 points too low do no harm.", alike(MISJUDGED[0].name, MISJUDGED[1].name, "f1")),
            Claim("5 points too high do no harm.", alike(MISJUDGED[2].name, MISJUDGED[1].name, "f1")),
        ),
    ),
    Artefact(
        "noisy-expert", "", "An expert who errs, passes, or overlooks anomalies", TABLES, (m.SOEL,), F1, (20,),
        experts=(
            Expert(), Expert(wrong=0.05), Expert(wrong=0.1), Expert(wrong=0.2), Expert(skip=0.3), Expert(bias=0.3),
        ),
        columns="expert",
    ),
)  # fmt: skip


ARTEFACTS: Mapping[str, Artefact] = {a.name: a for a in (*MAIN, *THEORY, *ABLATIONS, *OURS)}


def find_artefact(name: str) -> Artefact:
    """An artefact by its name or by the paper's label."""
    labelled = {artefact.label: artefact for artefact in ARTEFACTS.values()}
    found = ARTEFACTS.get(name) or labelled.get(name)
    if found is None:
        raise ConfigError(f"There is no artefact called {name!r}. `soel reproduce --list` names them.")
    return found
