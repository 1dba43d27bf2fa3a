"""Who may do what: one table, declared by the routes, written in the docs, and tried on every route of the app."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from soel.web import dependencies
from soel.web.app import ROUTES
from tests.web.conftest import ORIGIN, MakePage, Page

DOCS = Path(__file__).parents[2] / "docs" / "labelling-page.md"
ROW = re.compile(r"^\| (anyone|annotator|owner) \| (.*) \|$", re.MULTILINE)
ROUTE = re.compile(r"`(GET|POST|PUT|DELETE) (/\S*)`")
BODIES: dict[str, dict[str, Any]] = {
    "/api/answers": {"verdict": "normal"},
    "/api/undo": {"event": 1},
    "/api/notes": {"note": "hm"},
    "/api/marks": {"regions": []},
    "/api/maps": {"wait": True},
    "/api/decisions": {"verdict": "normal"},
    "/api/assignments": {"to": []},
    "/api/removals": {"items": ["nobody"]},
    "/api/labels": {"upload": "0" * 16},
    "/api/guideline": {"text": "Be fair."},
    "/api/invitations": {"name": "Cy"},
    "/api/revocations": {"name": "Nobody"},
    "/api/data": {"upload": "0" * 16},
    "/api/description": {"name": "Pumps", "description": ""},
}
WITH_ITEM = ("/api/answers", "/api/notes", "/api/marks", "/api/decisions")


def declared() -> dict[tuple[str, str], str]:
    """What each route asks for."""
    routes = [route for router in ROUTES for route in router.routes if isinstance(route, APIRoute)]
    assert len(routes) == sum(len(router.routes) for router in ROUTES) > 20
    return {(method, route.path): role(route.dependant) for route in routes for method in route.methods or ()}


def role(dependant: Dependant) -> str:
    calls = set(all_calls(dependant))
    if dependencies.owner in calls:
        return "owner"
    return "annotator" if dependencies.user in calls else "anyone"


def all_calls(dependant: Dependant) -> list[Any]:
    return [dependant.call, *(call for each in dependant.dependencies for call in all_calls(each))]


def test_the_docs_hold_the_table_of_the_code() -> None:
    rows = ROW.findall(DOCS.read_text(encoding="utf-8"))
    written = {route: who for who, routes in rows for route in ROUTE.findall(routes)}
    assert written == declared()


def ask(client: TestClient, page: Page, method: str, path: str) -> int:
    item = page.view_model.session.ids[0]
    body = BODIES.get(path, {}) | ({"item": item} if path in WITH_ITEM else {})
    given: dict[str, Any] = {"params": {"id": item, "row": 0}} if method == "GET" else {"json": body}
    return int(client.request(method, path.replace("{form}", "csv"), **given).status_code)


@pytest.fixture
def trained(make_page: MakePage) -> Page:
    page = make_page()
    page.label_all()
    return page


def test_every_route_keeps_to_the_table(trained: Page) -> None:
    stranger = TestClient(trained.app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
    table = declared()
    assert {"anyone", "annotator", "owner"} == set(table.values())
    for (method, path), who in table.items():
        if path == "/sign-out":
            continue  # the next test
        guest = trained.user("ann")
        assert (ask(stranger, trained, method, path) == 401) is (who != "anyone" or path == "/welcome"), path
        assert (ask(guest, trained, method, path) == 403) is (who == "owner"), path
        assert ask(trained.client, trained, method, path) != 403, path


def test_everybody_may_leave(trained: Page) -> None:
    ann = trained.user("ann")
    assert ann.post("/sign-out").headers["location"] == "/welcome"
    assert ann.get("/api/status").status_code == 401


def test_assets_are_for_anyone_and_hold_nothing_of_the_session(trained: Page) -> None:
    others = {route.path: route for route in trained.app.routes if hasattr(route, "path")}
    known = {path for _, path in declared()}
    assert others.keys() - known == {"/static", "/static/shared", "/api/openapi.json"}
    assert others["/static"].app.directory.name == "static"
    assert "pumps" not in trained.client.get("/static/label.js").text
