"""What every route is given: the view model, the user, and the errors it may answer with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, cast
from urllib.parse import quote, unquote

from fastapi import Depends, Request
from starlette.templating import Jinja2Templates

from soel.errors import SoelError
from soel.text import Texts
from soel.web.auth import Auth, User
from soel.web.findings import Findings, Insight
from soel.web.schemas import ErrorOut
from soel.web.security import RateLimit, Site
from soel.web.sentences import texts_for
from soel.web.view_model import ViewModel

PAGE_USER, PAGE_SESSION = "soel-user", "soel-session"  # headers: for whom and for which session a page was made
Documented = dict[int | str, dict[str, Any]]
REFUSALS: Documented = {
    400: {"model": ErrorOut, "description": "A foreign host, or a request that is no HTTP"},
    401: {"model": ErrorOut, "description": "Not signed in"},
    403: {"model": ErrorOut, "description": "A foreign origin, or a matter for the owner"},
    404: {"model": ErrorOut, "description": "No such item"},
    409: {"model": ErrorOut, "description": "The session cannot do this now"},
    408: {"model": ErrorOut, "description": "It took too long to arrive"},
    413: {"model": ErrorOut, "description": "Too large"},
    422: {"model": ErrorOut, "description": "Not what the description asks for"},
    507: {"model": ErrorOut, "description": "The disk is full, or cannot be written to"},
}


class OwnerOnlyError(SoelError):
    """Something that only the session's owner may do."""


class OtherPageError(SoelError):
    """A request of a page that was made for another user or another session."""


@dataclass(frozen=True)
class BaseContext:
    """What every app has, also before there is a session."""

    auth: Auth
    site: Site
    templates: Jinja2Templates
    attempts: RateLimit = field(default_factory=RateLimit, kw_only=True)

    @property
    def parts(self) -> Any:
        """The macros that the page and the report share."""
        return self.templates.env.get_template("parts.html").module


@dataclass(frozen=True)
class PageContext(BaseContext):
    """What the app of a session is made of."""

    view_model: ViewModel
    findings: Findings
    insight: Insight


def base_context(request: Request) -> BaseContext:
    """What the app that answers this request is made of, with or without a session."""
    return cast(BaseContext, request.app.state.context)


def context(request: Request) -> PageContext:
    """What the app of a session is made of."""
    return cast(PageContext, request.app.state.context)


def view_model(request: Request) -> ViewModel:
    """The session as the page sees it."""
    return context(request).view_model


def findings(request: Request) -> Findings:
    """The results of the last fit."""
    return context(request).findings


def user(request: Request) -> User:
    """Who asks; the middleware has checked it. A page says for whom and for which session it was made."""
    asking, headers = cast(User, request.state.user), request.headers
    made_for = unquote(headers.get(PAGE_USER, quote(asking.name)))
    if made_for != asking.name:
        raise OtherPageError(
            f"This page was opened by {made_for!r}, and this browser is now signed in as {asking.name!r}; nothing was "
            f"stored. Load the page anew to go on as {asking.name!r}, or sign in as {made_for!r} again."
        )
    held = request.app.state.context
    if (
        isinstance(held, PageContext)
        and PAGE_SESSION in headers
        and headers[PAGE_SESSION] != held.view_model.session.config.session
    ):
        raise OtherPageError(
            "This page belongs to another session, which was served here before; nothing was stored. Start that "
            "session again, or load the page anew to label the one that is here now."
        )
    return asking


def owner(request: Request) -> User:
    """Who asks, if it is the owner."""
    asking = user(request)
    if not asking.is_owner:
        raise OwnerOnlyError("Only the session's owner can do this; ask them.")
    return asking


BaseContextDep = Annotated[BaseContext, Depends(base_context)]
ContextDep = Annotated[PageContext, Depends(context)]
ViewModelDep = Annotated[ViewModel, Depends(view_model)]
FindingsDep = Annotated[Findings, Depends(findings)]
UserDep = Annotated[User, Depends(user)]
OwnerDep = Annotated[User, Depends(owner)]
TextsDep = Annotated[Texts, Depends(texts_for)]
