"""The endpoint: its routes, and the errors that they answer with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, Response

from soel.errors import DataError, SoelError, StorageError
from soel.serve import bodies
from soel.serve.gate import OPEN, Access, Gate
from soel.serve.meters import CONTENT_TYPE, Meters
from soel.serve.micro_batch import BusyError, LateError, MicroBatches
from soel.serve.served import ServedModel
from soel.serve.session_link import FeedbackIn, SessionLink
from soel.tables.raw_table import RawTable
from soel.web.faults import STATUS as ERROR_STATUS

SMALL = 16_384  # bytes of a body that is read at once; a larger one is read beside the requests of others
STATUS = ((bodies.TooManyRowsError, 413), (BusyError, 429), (LateError, 503), (StorageError, 507), *ERROR_STATUS)
V2 = "/v2/models/soel"
ROWS = {
    bodies.JSON: {"schema": {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}}},
    bodies.CSV: {"schema": {"type": "string"}},
    bodies.ARROW: {"schema": {"type": "string", "format": "binary"}},
}
BODY = {"requestBody": {"required": True, "content": ROWS}}
TENSORS = {"requestBody": {"required": True, "content": {bodies.JSON: {"schema": {"type": "object"}}}}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"description": HTTPStatus(code).phrase} for code in (401, 403, 404, 408, 409, 413, 415, 422, 429, 503, 507)
}


@dataclass
class Desk:
    """What the routes share. served: the model of new requests; one that is replaced ends those it began.

    link: to the session of the model; None for a model alone.
    """

    served: ServedModel
    batches: MicroBatches
    meters: Meters
    link: SessionLink | None = None

    def replace(self, served: ServedModel) -> None:
        """Serve another model from the next request on."""
        self.meters.begin(served)
        self.served = served

    async def score(self, read: Callable[[], RawTable], size: int, why: bool) -> tuple[ServedModel, dict[str, Any]]:
        """Read rows and score them with others; returns the model and the columns of the answer."""
        served = self.served
        batch = served.read(read()) if size <= SMALL else await run_in_threadpool(lambda: served.read(read()))
        link = self.link
        if why and link is None:
            raise DataError("Reasons need the rows that the model learnt from; serve the session, not its model alone.")
        scores = await self.batches.score(served, batch.features)
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise DataError(f"The score of row {row} is {scores[row]}. Look at its values, and at what the pool holds.")
        verdicts = served.judge(scores)
        self.meters.note(served, batch, verdicts)
        columns: dict[str, Any] = {"id": batch.ids, **verdicts}
        whys = None
        if why and link is not None:
            columns["why"] = whys = await run_in_threadpool(link.explain, served, batch, verdicts)
        if link is not None and verdicts["alarm"].any():
            await run_in_threadpool(link.keep, served, batch, verdicts, whys)
        return served, columns


def create_endpoint(desk: Desk, access: Access) -> FastAPI:
    """The app that answers requests."""
    app = FastAPI(title="soel serve", version=version("soel"), docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_exception_handler(SoelError, _refuse)
    app.add_exception_handler(StorageError, _refuse)
    app.add_exception_handler(Exception, _bug)
    _add_routes(app, desk)
    _add_protocol(app, desk)
    app.add_middleware(Gate, access=access)

    @app.middleware("http")
    async def count(request: Request, call: Any) -> Response:
        begun = time.perf_counter()
        answer: Response = await call(request)
        path = getattr(request.scope.get("route"), "path", "other")
        desk.meters.requests.labels(path, str(answer.status_code)).inc()
        if path in ("/v1/score", f"{V2}/infer"):
            desk.meters.seconds.observe(time.perf_counter() - begun)
        return answer

    return app


def _add_routes(app: FastAPI, desk: Desk) -> None:
    @app.post("/v1/score", responses=REFUSALS | _answers(bodies.JSON, bodies.ARROW), openapi_extra=BODY)
    async def score(request: Request, why: Annotated[bool, Query(description="Say why of alarms")] = False) -> Response:
        """Scores of rows, as JSON or, where `Accept` asks for it, as an Arrow stream."""
        kind = request.headers.get("content-type", bodies.JSON).partition(";")[0].strip().lower()
        if kind not in ROWS:
            return JSONResponse({"error": f"{kind[:100]!r} is not read. Send {', '.join(ROWS)}."}, 415)
        body = await request.body()
        served, columns = await desk.score(lambda: bodies.read_body(body, kind), len(body), why)
        if bodies.ARROW in request.headers.get("accept", ""):
            return Response(bodies.write_arrow(columns), media_type=bodies.ARROW)
        return Response(bodies.write_rows(columns, model=served.version), media_type=bodies.JSON)

    @app.get("/v1/model", responses=REFUSALS | _answers(bodies.JSON, "text/markdown"))
    async def model(request: Request) -> Response:
        """What the model reads, what its alarms promise, its version and its card; the card alone as text/markdown."""
        served = desk.served
        if "text/markdown" in request.headers.get("accept", ""):
            return PlainTextResponse(served.card, media_type="text/markdown")
        return JSONResponse({**served.document(), "soel": version("soel"), "card": served.card})

    @app.post("/v1/feedback", responses=REFUSALS)
    def feedback(given: FeedbackIn) -> dict[str, Any]:
        """Store what somebody says about an item of the session, or about an alarm; it is on disk when this answers."""
        if desk.link is None:
            raise DataError("A model alone keeps no answers; serve the session that it was fitted in.")
        return desk.link.tell(given)

    @app.get("/metrics", responses=REFUSALS, response_class=PlainTextResponse)
    def metrics() -> Response:
        """What was counted, for Prometheus."""
        desk.meters.n_waiting = lambda: desk.batches.n_waiting
        return Response(desk.meters.render(), media_type=CONTENT_TYPE)

    for path in (*OPEN, f"{V2}/ready", f"{V2}/versions/{{version}}/ready"):
        app.get(path, include_in_schema=path.startswith("/health"))(_ready)


def _answers(*kinds: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {kind: {} for kind in kinds}}}


async def _ready() -> dict[str, bool]:
    """That the process answers; before its model has scored its recorded row as where it was saved, none does."""
    return {"live": True, "ready": True}


def _add_protocol(app: FastAPI, desk: Desk) -> None:
    """The Open Inference Protocol, version 2."""

    @app.get("/v2", responses=REFUSALS)
    async def server() -> dict[str, Any]:
        """Which server this is."""
        return {"name": "soel", "version": version("soel"), "extensions": ["binary_tensor_data"]}

    async def describe() -> dict[str, Any]:
        """The tensors that the model takes and gives."""
        served = desk.served
        kinds = {each["name"]: "FP64" if each["kind"] == "number" else "BYTES" for each in served.columns}
        named = {served.id_column: "BYTES"} if served.id_column else {}
        return {
            "name": "soel",
            "versions": [served.version],
            "platform": "soel",
            "inputs": [{"name": n, "datatype": t, "shape": [-1]} for n, t in (named | kinds).items()],
            "outputs": [{"name": n, "datatype": t, "shape": [-1]} for n, t in bodies.OUTPUTS.items()],
        }

    async def infer(request: Request) -> Response:
        """Scores of rows that come as tensors."""
        body = await request.body()
        asked = bodies.read_tensors(body, request.headers.get("inference-header-content-length"))
        served, columns = await desk.score(lambda: asked.rows, len(body), why=False)
        return Response(bodies.write_tensors(asked, served.version, columns), media_type=bodies.JSON)

    for path in (V2, f"{V2}/versions/{{version}}"):
        app.get(path, responses=REFUSALS, include_in_schema=path == V2)(describe)
        app.post(f"{path}/infer", responses=REFUSALS, openapi_extra=TENSORS, include_in_schema=path == V2)(infer)


async def _refuse(_request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 409)
    wait = {"retry-after": "1"} if status in (429, 503) else {}
    return JSONResponse({"error": str(error)}, status, headers=wait)


async def _bug(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"This is a bug: {type(error).__name__}. What was stored before is safe."}, 500)
