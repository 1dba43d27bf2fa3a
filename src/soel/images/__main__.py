"""The command `python -m soel.images`: the networks that turn pictures into features."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from soel.errors import SoelError
from soel.images.export import export_extractor
from soel.images.extractors import NAMES


def main(argv: Sequence[str] | None = None) -> int:
    """List the extractors, or write a network of an installed package as ONNX; returns how it ended."""
    parser = argparse.ArgumentParser(prog="python -m soel.images", description=__doc__)
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    steps.add_parser("list", help="the extractors by name")
    export = steps.add_parser("export", help="write a network of an installed package as ONNX")
    export.add_argument("network", metavar="NETWORK", help="torchvision:NAME or transformers:NAME")
    export.add_argument("--out", metavar="FILE.onnx", type=Path, required=True)
    args = parser.parse_args(argv)
    if args.step == "list":
        sys.stdout.writelines(f"{name}: {what}\n" for name, what in NAMES.items())
        return 0
    try:
        export_extractor(args.network, args.out)
    except SoelError as error:
        sys.stderr.write(f"soel: {error}\n")
        return 2
    sys.stdout.write(f"{args.network} is in {args.out}.\nNext: soel init DIR --data FOLDER --extractor {args.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
