"""How columns are read, asked before there is a session: on the page, and on the command line."""

from __future__ import annotations

import bz2
import gzip
from contextlib import closing
from pathlib import Path

import pytest

from soel.errors import ConfigError, LabelError, SchemaError
from soel.session import SessionOptions, request
from soel.session.request import Creation, Request
from soel.tables import look
from soel.web.app import create_preparing_app
from soel.web.auth import Auth, User
from soel.web.prepare import ColumnQuestion, Preparation, ask_about
from tests.web.conftest import SITE, signed_in


def write_doubtful(path: Path) -> Path:
    """Codes with leading zeros, days that could be months, and a column that is sure."""
    lines = [f"{row:04d},{row % 11 + 1:02d}/{row % 9 + 1:02d}/2024,{row % 7}.5,p{row}" for row in range(60)]
    path.write_text("\n".join(["code,day,flow <b>,pump", *lines, lines[0]]), encoding="utf-8")
    return path


def look_first(table: Path) -> ColumnQuestion | None:
    creation = Creation(table)
    return ask_about(creation, creation.look())


class Asking:
    """The page of a creation that is not begun: its process is only counted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.starts: list[Request] = []
        self.creation = Creation(write_doubtful(folder / "doubtful.csv"))
        monkeypatch.setattr(Creation, "start", lambda creation: self.starts.append(creation._request))
        self.auth = Auth(self.creation.make_place())
        question = ask_about(self.creation, self.creation.look())
        assert question is not None
        self.preparation = Preparation(self.creation, "doubtful.csv", question=question)
        self.app = create_preparing_app(self.preparation, self.auth, SITE)
        self.owner = signed_in(self.app, self.auth, User("expert", "owner"))
        self.guest = signed_in(self.app, self.auth, User("guest", "annotator"))


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(tmp_path, monkeypatch)


def test_the_owner_sees_how_columns_are_read_and_nothing_has_begun(asking: Asking) -> None:
    page = asking.owner.get("/").text
    for part in ('id="columns-form"', "flow &lt;b&gt;", "leading zeros", "Not sure:", 'name="dates"', 'class="bars"'):
        assert part in page
    assert "--" not in page[page.index("columns-form") : page.index("</form>", page.index("columns-form"))], (
        "no options"
    )
    assert page.index('data-column="code"') < page.index('data-column="flow &lt;b&gt;"'), "what is not sure comes first"
    assert asking.owner.get("/api/preparation").json()["stage"] == "asking"
    assert asking.starts == []


def test_others_are_told_and_cannot_choose(asking: Asking) -> None:
    assert "columns-form" not in asking.guest.get("/").text
    assert asking.guest.get("/api/preparation").json()["stage"] == "asking"
    assert asking.guest.post("/api/preparation/columns", json={}).status_code == 403
    assert asking.starts == []


def test_choices_are_taken_in_and_it_begins(asking: Asking) -> None:
    said = {"choices": {"code": "ignore", "pump": "id"}, "dates": "mdy", "drop_duplicates": True, "labels_by": None}
    answer = asking.owner.post("/api/preparation/columns", json=said)
    assert answer.status_code == 200, answer.text
    (request,) = asking.starts
    assert (request.columns.ignore, request.columns.dates, request.columns.drop_duplicates) == (("code",), "mdy", True)
    assert request.options.id_column == "pump"
    assert Request.from_text(request.to_text()) == request, "it travels to the process that makes the session"
    assert asking.owner.post("/api/preparation/columns", json=said).status_code == 409


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"pump": "numeric"}, "pump"),
        ({"nothing": "numeric"}, "has no column 'nothing'"),
        ({"pump": "id", "code": "id"}, "One column can be the id"),
    ],
)
def test_what_cannot_be_is_said_and_asked_again(asking: Asking, choices: dict[str, str], message: str) -> None:
    answer = asking.owner.post("/api/preparation/columns", json={"choices": choices})
    assert answer.status_code in (400, 409, 422), answer.text
    assert message in answer.json()["error"]
    assert asking.starts == []
    assert asking.owner.post("/api/preparation/columns", json={}).status_code == 200
    assert asking.starts[0].columns == asking.creation.columns


def test_a_choice_that_leads_nowhere_is_asked_again(asking: Asking) -> None:
    assert asking.owner.post("/api/preparation/columns", json={}).status_code == 200
    assert asking.owner.get("/api/preparation").json()["stage"] == "failed", "no process has made anything"
    assert asking.owner.post("/api/preparation").json()["stage"] == "asking"
    assert 'id="columns-form"' in asking.owner.get("/").text


def test_a_table_that_is_sure_is_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / "sure.csv").write_text("\n".join(["a,b", *(f"{row}.5,{row % 3}.25" for row in range(40))]))
    assert look_first(tmp_path / "sure.csv") is None


def test_a_refused_choice_changes_nothing(tmp_path: Path) -> None:
    creation = Creation(write_doubtful(tmp_path / "doubtful.csv"), SessionOptions(id_column="pump"))
    before = creation.columns
    with pytest.raises(SchemaError):
        creation.choose(before, None, "nothing")
    assert creation.columns == before
    assert creation._request.options.label_column is None


def test_labels_that_are_there_are_a_named_person_s_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from soel.session import worker
    from soel.session.create import open_session

    table = tmp_path / "known.csv"
    rows = [f"{row % 7}.5,{row % 5},{'anomaly' if row < 3 else 'normal' if row < 30 else ''}" for row in range(60)]
    table.write_text("\n".join(["flow,heat,verdict", *rows]), encoding="utf-8")
    creation = Creation(table)
    before = creation.columns
    with pytest.raises(ConfigError, match="no column of labels for 'Bo'"):
        creation.choose(before, None, None, "Bo")
    with pytest.raises(LabelError):
        creation.choose(before, None, "flow", "Bo")
    creation.choose(before, None, "verdict", "Bo")
    place = creation.make_place()
    assert worker.run(place, worker.CREATE, creation._request.to_text(), None) == 0
    with closing(open_session(creation.folder)) as session:
        status = session.status()
    assert (status.n_labels, status.n_anomalies, status.n_left) == (30, 3, 20), "the budget is for new questions"
    assert [(person.name, person.n_answers) for person in status.people] == [("Bo", 30)]


def test_a_large_table_is_looked_at_by_its_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "QUICK", 100)
    question = look_first(write_doubtful(tmp_path / "doubtful.csv"))
    assert question is not None
    assert {each.name for each in question.reading.doubtful} == {"code", "day"}
    packed = tmp_path / "doubtful.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "doubtful.csv").read_bytes()))
    question = look_first(packed)
    assert question is not None
    assert {each.name for each in question.reading.doubtful} == {"code", "day"}


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_the_first_lines_of_a_large_packed_file_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    lines = [f'{row % 7:04d};"a\n{row}";{row},5\n' for row in range(5000)]
    pack = gzip.compress if suffix == ".gz" else bz2.compress
    (tmp_path / f"t.csv{suffix}").write_bytes(pack(("code;note;x\n" + "".join(lines)).encode()))
    monkeypatch.setattr(request, "QUICK", 100)
    monkeypatch.setattr(look, "START_BYTES", 4000)
    reading = Creation(tmp_path / f"t.csv{suffix}").look()
    assert reading is not None
    assert 100 < reading.n_rows < 400, "not all of it is unpacked"
    assert (reading["code"].kind, reading["x"].kind, reading["x"].form.decimal) == ("category", "number", ",")
    assert [each.name for each in reading.doubtful] == ["code"]
