"""Sessions over a small table."""

from tests.table_session import make

__all__ = ["make"]
