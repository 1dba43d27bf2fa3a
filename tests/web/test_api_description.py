"""The API does what its description says, whatever is sent to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.web.conftest import ORIGIN, SITE, Page, page_with_results

# A name has to be printable, which a JSON schema cannot say.
FREER: dict[str, list[Any]] = {"/api/invitations": [positive_data_acceptance]}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page that everything may be sent to."""
    with page_with_results(tmp_path_factory.mktemp("used")) as page:
        yield page


def test_answers_are_as_described(used: Page) -> None:
    described = schemathesis.openapi.from_asgi("/api/openapi.json", used.app, headers=_headers(used))
    found: list[Any] = list(described.get_all_operations())
    operations = [result.ok() for result in found]
    assert len(operations) == sum(len(methods) for methods in used.get("/api/openapi.json")["paths"].values())
    for operation in operations:
        _try(operation, used)


def _try(operation: Any, used: Page) -> None:
    @given(operation.as_strategy())
    @settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        response = case.call(headers=_headers(used))
        case.validate_response(response, excluded_checks=FREER.get(operation.path, []))

    send()


def _headers(used: Page) -> dict[str, str]:
    cookie = f"{SITE.cookie}={used.client.cookies[SITE.cookie]}"
    return {"host": "127.0.0.1:8000", "origin": ORIGIN, "cookie": cookie}


def test_every_change_is_described(used: Page) -> None:
    paths = used.get("/api/openapi.json")["paths"]
    assert {path for path in paths if not path.startswith("/api/")} == set()
    for methods in paths.values():
        for operation in methods.values():
            assert operation["description"]
            assert {"401", "403", "413", "422"} <= set(operation["responses"])
