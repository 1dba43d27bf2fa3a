"""Sessions over a small table, with the fake learner."""

from tests.table_session import make as make
