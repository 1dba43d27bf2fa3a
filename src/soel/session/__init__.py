"""The labelling session: what was asked, what was answered, what comes next."""

from soel.session.answers import Answer, as_answers, read_verdict
from soel.session.config import SessionConfig
from soel.session.folder import SessionFolder, lay_out
from soel.session.ports import Engine, Event, Progress, Store
from soel.session.results import Asked, Fitted, Scored, Status, Told
from soel.session.session import Session
from soel.session.state import SessionState, fold

__all__ = [
    "Answer",
    "Asked",
    "Engine",
    "Event",
    "Fitted",
    "Progress",
    "Scored",
    "Session",
    "SessionConfig",
    "SessionFolder",
    "SessionState",
    "Status",
    "Store",
    "Told",
    "as_answers",
    "fold",
    "lay_out",
    "read_verdict",
]
