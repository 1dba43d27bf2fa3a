"""Write the lock files: every package that a set-up of the Makefile installs, with the digests of its files.

Run by `make lock`; needs `uv`. `constraints.txt` says which versions; the digests are those of the public index, for
every platform and Python that the project supports. torch has two files of its own: `torch.txt` is what the public
index has (on Linux with four gigabytes of CUDA), `torch-cpu.txt` the build without CUDA, which the public index lacks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "lock"
TORCH = re.compile("(cuda-|nvidia-|torch|triton$)")
NOT_RUN_TIME = ("benchmarks", "dev", "docs")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
RUN_TIME = [extra for extra in EXTRAS if extra not in NOT_RUN_TIME]
# By extras; `run` is for the bill of materials, `serve` for the image of the endpoint.
LOCKS = {"demo": list[str](), "run": RUN_TIME, "serve": ["serve"], "test": ["dev"]}
AUDIT = "cyclonedx-bom>=7\npip-audit>=2.9"
APART = "deepod==0.4.1"  # a peer; it pins an old torch that it does not need
LEFT_OUT = "nvidia-nccl-cu12"  # 470 MB that xgboost, another peer, loads for several GPUs only
CPU_TORCH = {  # files of the CPU build whose digests we have seen
    "torch==2.13.0+cpu": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],  # Python 3.11, x86-64
}
BUILD = "setuptools"  # builds the package itself, without an environment of its own that nobody pinned


def main() -> int:
    """Compile each lock with uv, and put what belongs to torch into files of its own."""
    LOCK.mkdir(exist_ok=True)
    torch: dict[str, str] = {}
    for name, extras in LOCKS.items():
        flags = [f"--extra={extra}" for extra in extras]
        packages = _packages(_uv("pyproject.toml", "-", *flags, given=BUILD))
        if name == "test":
            packages |= _packages(_uv("-", "--no-deps", given=APART))
        torch |= {package: text for package, text in packages.items() if TORCH.match(package)}
        _write(name, [text for package, text in packages.items() if package not in torch])
    _write("torch", torch.values())
    _write("audit", _packages(_uv("-", given=AUDIT)).values())
    _write("torch-cpu", [_block(pin, (f"--hash=sha256:{d}" for d in digests)) for pin, digests in CPU_TORCH.items()])
    return 0


def _uv(*arguments: str, given: str) -> str:
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11.5", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--constraint", "constraints.txt"]
    command += ["--no-emit-package", LEFT_OUT, *arguments]
    return subprocess.run(command, cwd=ROOT, input=given, check=True, stdout=subprocess.PIPE, text=True).stdout


def _packages(lock: str) -> dict[str, str]:
    """The blocks of a lock by package, in its order: a line with the version, then lines with digests."""
    found: dict[str, list[str]] = {}
    for line in lock.splitlines():
        if not line.startswith(" "):
            name = line.split("==")[0]
            if name in found:
                raise SystemExit(f"{name} is there in two versions: pin one in constraints.txt.")
            found[name] = []
        found[name].append(line.strip(" \\"))
    return {name: _block(pin, digests) for name, (pin, *digests) in found.items()}


def _block(pin: str, digests: Iterable[str]) -> str:
    return " \\\n    ".join([pin, *digests])


def _write(name: str, blocks: Iterable[str]) -> None:
    text = "\n".join(["# Written by `make lock` from pyproject.toml and constraints.txt.", *blocks])
    (LOCK / f"{name}.txt").write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
