"""A session is its owner's own: nobody else may look into its folder, whatever the umask."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from soel.api import sessions
