"""Pictures and video: the options that say how they are read, and the verb extractor."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.reply import Reply
from soel.report.progress import Bar

if TYPE_CHECKING:
    from soel.session.pictures import MediaOptions


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


def add_media_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how pictures and video are read."""
    group = parser.add_argument_group("pictures and video")
    group.add_argument("--extractor", default="efficientnet-lite2", metavar="NAME|FILE.onnx", help="the frozen network")
    group.add_argument(
        "--patches", default="auto", choices=("auto", "yes", "no"), help="look at places beside the whole picture"
    )
    group.add_argument(
        "--resolution",
        type=int,
        metavar="PIXELS",
        help="look at whole pictures in tiles, the shorter side of this length",
    )
    group.add_argument("--path-column", metavar="COLUMN", help="the column of a table that names picture files")
    group.add_argument("--every", type=int, default=1, metavar="N", help="keep every N-th frame (default: all)")
    group.add_argument("--frame-rate", type=float, metavar="N", help="pictures of a folder are frames, N a second")
    group.add_argument("--normal", metavar="NAME", help="the folder or class that is normal, for experiments")
    group.add_argument("--truth", metavar="FILE", type=Path, help="known labels, CSV or JSON, for experiments")
    group.add_argument("--strict", action="store_true", help="stop at a file that cannot be read")


def read_media_options(args: argparse.Namespace, bar: Bar | None) -> MediaOptions:
    """The options as one value."""
    from soel.images.source import Reading
    from soel.session.pictures import MediaOptions

    limit = Reading.max_unpacked if args.max_unpacked is None else args.max_unpacked
    reading = Reading(args.every, args.frame_rate, args.strict, limit)
    paths = (args.extractor, reading, args.path_column, args.normal, args.truth, bar)
    return MediaOptions(*paths, patches=args.patches, resolution=args.resolution)


def describe_media(folder: Path) -> dict[str, str]:
    """What a session on pictures chose and left out, in sentences; nothing for a table."""
    from soel.session.pictures import media_summary

    return media_summary(folder)


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
