"""The demo's verdict: only a run in which all is well may say ``lost 0``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from example_project.demo.report import Effect, Evidence, JobRow, render, verdict

GOOD = Evidence(
    enqueued=["charge-1", "invoice-1"],
    repeated=2,
    refused=2,
    jobs=[
        JobRow(key="charge-1", type="charge-card", status="failed", max_retries=0, error="worker lost"),
        JobRow(key="invoice-1", type="send-invoice", status="completed", retries=1),
    ],
    effects=[
        Effect("cards charged", frozenset(), {"charge-1": 1}),
        Effect("invoices mailed", frozenset({"invoice-1"}), {"invoice-1": 1}),
    ],
    charges={"charge-1": (1, 1)},
    cut_off=1,
)


def test_a_good_run_ends_with_lost_0_and_exit_code_0():
    assert verdict(GOOD) == ("lost 0", 0)


@pytest.mark.parametrize("status", ["scheduled", "pending", "running"])
def test_a_job_in_no_end_state_is_lost(status):
    jobs = [GOOD.jobs[0], replace(GOOD.jobs[1], status=status)]
    line, code = verdict(replace(GOOD, jobs=jobs))
    assert line.startswith("lost 1")
    assert code == 1


def test_a_job_that_is_not_in_the_table_is_lost():
    line, code = verdict(replace(GOOD, jobs=GOOD.jobs[:1]))
    assert line.startswith("lost 1")
    assert code == 1


BROKEN = {
    "an effect that happened twice": replace(
        GOOD, effects=[Effect("invoices mailed", frozenset({"invoice-1"}), {"invoice-1": 2})]
    ),
    "a completed job without its effect": replace(
        GOOD, effects=[Effect("invoices mailed", frozenset({"invoice-1"}), {})]
    ),
    "a duplicate that was not refused": replace(GOOD, refused=1),
    "a job more than was enqueued": replace(GOOD, jobs=[*GOOD.jobs, GOOD.jobs[1]]),
    "a charge that was retried": replace(GOOD, charges={"charge-1": (2, 1)}),
    "a job that failed though it has retries": replace(
        GOOD, jobs=[GOOD.jobs[0], replace(GOOD.jobs[1], status="failed")]
    ),
    "a step that failed": replace(GOOD, failures=["Worker one ended with 1."]),
}


@pytest.mark.parametrize("evidence", BROKEN.values(), ids=BROKEN.keys())
def test_a_run_with_a_problem_does_not_end_with_lost_0(evidence):
    line, code = verdict(evidence)
    assert line == "lost 0, and 1 problem (see above)"
    assert code == 1


def test_a_problem_is_named_in_the_report():
    assert "invoices mailed: invoice-1 happened 2 times." in render(BROKEN["an effect that happened twice"])


def test_the_table_counts_jobs_by_type_and_status():
    rows = [line.split() for line in render(GOOD).splitlines()]
    assert ["charge-card", "1", "0", "1", "0", "0", "0"] in rows
    assert ["send-invoice", "1", "1", "0", "0", "0", "1"] in rows
    assert ["all", "2", "1", "1", "0", "0", "1"] in rows


def test_a_charge_that_failed_is_left_to_a_person_with_what_the_gateway_knows():
    assert "charge-1  charged once  worker lost" in render(GOOD)
