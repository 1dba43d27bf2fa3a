"""The command `python -m soel_paper`: the paper's experiments, other detectors on a table, public data sets."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from soel.cli.main import Parser, common_options, run
from soel_paper.verbs import add, add_compare, add_datasets, add_raw

PROGRAM = "python -m soel_paper"


def build_parser(_: str | None = None) -> Parser:
    """Its command line."""
    parser = Parser(prog=PROGRAM, description=__doc__)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, prog=PROGRAM)
    for add_verb in (add, add_compare, add_raw, add_datasets):
        add_verb(verbs, common_options())
    parser.set_defaults(verbs=dict(verbs.choices))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns how it ended."""
    return run(build_parser, sys.argv[1:] if argv is None else argv)


if __name__ == "__main__":
    sys.exit(main())
