"""The labelling session: what was asked, what was answered, what comes next."""

from soel.scoring.score import Scores
from soel.session.config import SessionConfig, SessionOptions
from soel.session.events import Answer, Answered, Decision, Event, Store, Vote, as_answers, read_verdict
from soel.session.fold import Folding, fold
from soel.session.folder import SessionFolder, lay_out
from soel.session.people import Agreement
from soel.session.pool_records import StoppingAdvice, Why
from soel.session.session import Session
from soel.session.standing import AskResult, FitResult, Status, TellResult
from soel.session.state import Note, SessionState

__all__ = [
    "Agreement",
    "Answer",
    "Answered",
    "AskResult",
    "Decision",
    "Event",
    "FitResult",
    "Folding",
    "Note",
    "Scores",
    "Session",
    "SessionConfig",
    "SessionFolder",
    "SessionOptions",
    "SessionState",
    "Status",
    "StoppingAdvice",
    "Store",
    "TellResult",
    "Vote",
    "Why",
    "as_answers",
    "fold",
    "lay_out",
    "read_verdict",
]
