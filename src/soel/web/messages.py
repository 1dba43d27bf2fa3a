"""What the page sends, as it stands in the API's description: checked here, once, by the limits of `validation`."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from soel.checks import (
    LONGEST_GUIDELINES,
    LONGEST_ID,
    LONGEST_NAME,
    LONGEST_NOTE,
    TEXT_PATTERN,
    check_text,
    clean_name,
)
from soel.session.events import Answer
from soel.session.marks import MOST_POINTS, MOST_REGIONS, Shape
from soel.types import Verdict


def _check_guidelines(text: str) -> str:
    return check_text(text, LONGEST_GUIDELINES)


_Text = Annotated[str, Field(pattern=TEXT_PATTERN)]
ItemId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]  # looked up in the list of items, never stored
Note = Annotated[_Text, AfterValidator(check_text), Field(max_length=LONGEST_NOTE)]
Guidelines = Annotated[_Text, AfterValidator(_check_guidelines), Field(max_length=LONGEST_GUIDELINES)]
Name = Annotated[str, AfterValidator(clean_name), Field(min_length=1, max_length=LONGEST_NAME)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Tab = Annotated[str, Field(max_length=40, pattern=r"^[A-Za-z0-9-]*$")]


class RequestBody(BaseModel):
    """Something the page sends; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class TurnIn(RequestBody):
    """Which window of the user asks for its next item."""

    tab: Tab = ""


class AnswerIn(RequestBody):
    """One answer to one item. key: made up by the sender; an answer that is sent twice under it is stored once.

    because: the columns whose values are why it is an anomaly, or are fine; null keeps those of the same answer.
    """

    item: ItemId
    verdict: Verdict
    note: Note | None = None
    because: Annotated[list[Annotated[str, Field(max_length=LONGEST_ID)]], Field(max_length=1000)] | None = None
    tab: Tab = ""
    key: Tab = ""

    @property
    def answer(self) -> Answer:
        """What is stored of it."""
        words = None if self.note is None else self.note.strip()
        because = None if self.because is None else tuple(self.because)
        return Answer(self.item, self.verdict, words, self.key, because=because)


class UndoIn(RequestBody):
    """Which answer is taken back: the number of its event, as the status names it."""

    event: Annotated[int, Field(ge=1, lt=2**63)]
    tab: Tab = ""


class NoteIn(RequestBody):
    """A note on one item."""

    item: ItemId
    note: Note


class RegionIn(RequestBody):
    """One thing that was drawn: points as shares of the picture's width and height. radius: of a brush."""

    shape: Shape
    points: Annotated[list[tuple[Share, Share]], Field(min_length=1, max_length=MOST_POINTS)]
    radius: Share = 0.0


class MarkIn(RequestBody):
    """All that the user has drawn on a picture."""

    item: ItemId
    regions: Annotated[list[RegionIn], Field(max_length=MOST_REGIONS)]


class MapsIn(RequestBody):
    """wait: whether unusual places are shown only after an own answer."""

    wait: bool


class DecideIn(RequestBody):
    """The owner's word on an item; null takes it back."""

    item: ItemId
    verdict: Literal[Verdict.ANOMALY, Verdict.NORMAL] | None


class AssignIn(RequestBody):
    """To whom; to nobody gives back. items: which; null shares out all open ones in turn."""

    to: Annotated[list[Annotated[str, Field(max_length=LONGEST_NAME)]], Field(max_length=100)]  # looked up
    items: Annotated[list[ItemId], Field(max_length=1000)] | None = None


class MoreIn(RequestBody):
    """How many further items to ask about, and what for."""

    n: Annotated[int, Field(ge=1, le=1000)] = 10
    purpose: Literal["learn", "check", "not-sure"] = "learn"


class AddIn(RequestBody):
    """upload: which files, by the digits they were sent under. replace: whether known items take on new content."""

    upload: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    replace: bool = False


class RemoveIn(RequestBody):
    """Items to be taken out."""

    items: Annotated[list[ItemId], Field(min_length=1, max_length=10_000)]


class TakeIn(RequestBody):
    """A file of labels, by the digits it was sent under."""

    upload: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class DescriptionIn(RequestBody):
    """What the session is called, and what it is about."""

    name: Annotated[_Text, AfterValidator(check_text), Field(max_length=LONGEST_NAME)]
    description: Guidelines


class TrainIn(RequestBody):
    """despite_disputes: whether items that people disagree on may be left out."""

    despite_disputes: bool = False


class GuidelineIn(RequestBody):
    """The owner's guideline in Markdown. version: of the text that was changed; without it, any is replaced."""

    text: Guidelines
    version: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None


class InvitationIn(RequestBody):
    """Who is invited to label."""

    name: Name


class RevocationIn(RequestBody):
    """Who is to be signed out; null for everybody but this browser."""

    name: Annotated[str, Field(max_length=LONGEST_NAME)] | None  # looked up, never stored


Choice = Literal["", "numeric", "categorical", "text", "time", "ignore", "id", "label"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


class ColumnChoicesIn(RequestBody):
    """How columns are to be read, by name; what is not named is read as it was found.

    labels_by: whose answers the labels of the column of labels are.
    """

    choices: dict[str, Choice] = Field(default_factory=dict, max_length=10_000)
    decimal: Literal[".", ","] | None = None
    dates: Literal["dmy", "mdy", "ymd"] | None = None
    drop_duplicates: bool = False
    labels_by: Name | None = None
