"""The paper's tables and figures by command, and the comparison on a user's own table."""
