"""Pictures and video: the options that say how they are read, and the verb extractor."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from soel.cli.reply import Reply


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    extractor = verbs.add_parser("extractor", help="the networks that turn pictures into features")
    steps = extractor.add_subparsers(dest="step", metavar="STEP", required=True)
    shown = steps.add_parser("list", parents=[common], help="the extractors by name")
    shown.set_defaults(handler=run_list)
    export = steps.add_parser("export", parents=[common], help="write a network of an installed package as ONNX")
    export.add_argument("network", metavar="NETWORK", help="efficientnet-lite2, torchvision:NAME or transformers:NAME")
    export.add_argument("--out", metavar="FILE.onnx", type=Path, required=True)
    export.set_defaults(handler=run_export)


def run_list(args: argparse.Namespace) -> Reply:
    """Say which extractors there are."""
    from soel.images.extractors import NAMES

    text = "\n".join(f"{name}: {what}" for name, what in NAMES.items())
    return Reply({"extractors": dict(NAMES)}, f"{text}\nNext: soel init DIR --data FOLDER --extractor NAME")


def run_export(args: argparse.Namespace) -> Reply:
    """Write a network as ONNX."""
    from soel.images.export import export_extractor

    export_extractor(args.network, args.out)
    text = f"{args.network} is in {args.out}.\nNext: soel init DIR --data FOLDER --extractor {args.out}"
    return Reply({"network": args.network, "out": str(args.out)}, text)
