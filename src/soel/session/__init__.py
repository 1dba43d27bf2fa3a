"""The labelling session: what was asked, what was answered, what comes next."""

from soel.scoring.score import Scores
from soel.session.answers import Answer, Answered, Decision, Vote, as_answers, read_verdict
from soel.session.config import SessionConfig, SessionOptions
from soel.session.events import Event, Store
from soel.session.fold import Folding, fold
from soel.session.folder import SessionFolder, lay_out
from soel.session.people import Agreement
from soel.session.session import Session
from soel.session.standing import AskResult, FitResult, Status, TellResult
from soel.session.state import Note, SessionState
from soel.session.stopping import StoppingAdvice
from soel.session.why import Why

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
