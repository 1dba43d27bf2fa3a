"""Sessions over a small table, with the fake engine."""

from tests.table_session import make as make
