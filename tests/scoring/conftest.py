from tests.table_session import make

__all__ = ["make"]
