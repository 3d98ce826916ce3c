"""The quickstart's code, run as a newcomer would: handler, enqueue, worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from django_jobqueue import registry
from django_jobqueue.models import Job
from tests.docs.pages import Page

pytestmark = pytest.mark.django_db(transaction=True)

QUICKSTART = Page("docs/quickstart.md")
README = Page("README.md")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, whose modules can be imported."""
    known = set(registry.types())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for type in set(registry.types()) - known:
        registry.unregister(type)
    for name in [name for name in sys.modules if name.partition(".")[0] == "orders"]:
        del sys.modules[name]


def write_app(project: Path, page: Page) -> None:
    (project / "orders").mkdir()
    (project / "orders" / "__init__.py").touch()
    (project / "orders" / "jobs.py").write_text("\n".join(page.python("orders/jobs.py")))


def run(blocks: list[str]) -> None:
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(block, namespace)


def drain() -> None:
    call_command("runworker", drain=True, reload=False, verbosity=0)


def test_the_quickstarts_jobs_are_enqueued_once_and_run(project: Path, capsys: pytest.CaptureFixture[str]):
    write_app(project, QUICKSTART)
    run(QUICKSTART.python("in the shell"))
    first, _ = Job.objects.order_by("id")
    printed = [f"{first.pk} pending False", f"{first.pk} pending True"]
    assert capsys.readouterr().out.splitlines() == printed
    drain()
    assert [job.status for job in Job.objects.all()] == ["completed", "completed"]
    assert (project / "invoices" / "2026-001.txt").read_text() == "Invoice 2026-001\nTotal: 49.90 EUR\n"
    assert (project / "invoices" / "2026-002.txt").exists()


def test_the_quickstarts_test_passes(project: Path):
    write_app(project, QUICKSTART)
    namespace: dict[str, object] = {"__name__": "orders.tests"}
    exec(QUICKSTART.python("orders/tests.py")[0], namespace)
    case = namespace["InvoiceTests"]
    assert isinstance(case, type)
    case("test_an_invoice_is_written").test_an_invoice_is_written()
    assert (project / "invoices" / "2026-003.txt").exists()


def test_the_readmes_job_runs(project: Path):
    write_app(project, README)
    run(README.python("anywhere in your code, also inside a transaction"))
    drain()
    job = Job.objects.get()
    assert (job.status, job.priority_label) == ("completed", "high")
    assert job.result == {"file": "invoices/2026-001.txt"}
