"""The endpoint does what its description says, whatever is sent to it."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from soel.serve.endpoint import Desk, create_endpoint
from soel.serve.gate import Access
from tests.serve.conftest import TOKEN

HEADERS = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.filterwarnings("ignore")
def test_answers_are_as_described(desk: Desk) -> None:
    app = create_endpoint(desk, Access(TOKEN))
    described = schemathesis.openapi.from_asgi("/openapi.json", app, headers=HEADERS)
    found: list[Any] = list(described.get_all_operations())
    assert len(found) >= 8
    for result in found:
        _try(result.ok())


def _try(operation: Any) -> None:
    @given(operation.as_strategy())
    @settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:  # which rows a model takes, a schema cannot say
        response = case.call(headers=HEADERS)
        case.validate_response(response, excluded_checks=[positive_data_acceptance])

    send()
