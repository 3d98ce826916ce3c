"""Orders in the admin."""

from __future__ import annotations

from decimal import Decimal

import pytest

from django_jobqueue.models import Job
from example_project.demo.load import load_orders
from example_project.models import Order


@pytest.fixture
def order(db):
    order = Order.objects.create(number="0042", email="customer@example.com")
    order.lines.create(item="Lamp", quantity=2, unit_price=Decimal("39.90"))
    return order


def test_an_order_costs_the_sum_of_its_lines(order):
    order.lines.create(item="Bulb", quantity=3, unit_price=Decimal("1.10"))
    assert order.total == Decimal("83.10")


def test_the_orders_file_is_loaded_as_it_is(db):
    orders = load_orders("run")
    assert [order.number for order in orders] == [f"run-{number:02}" for number in range(1, 13)]
    assert orders[11].lines.first().item == "Café table, Ø 60 cm"


def test_an_invoice_asked_for_twice_in_the_admin_is_one_job(order, admin_client):
    answers = [
        admin_client.post(
            "/admin/example_project/order/",
            {"action": "mail_invoice", "_selected_action": [order.pk]},
            follow=True,
        ).content.decode()
        for _ in range(2)
    ]
    assert "Invoices enqueued: 1; enqueued before: 0." in answers[0]
    assert "Invoices enqueued: 0; enqueued before: 1." in answers[1]
    assert list(Job.objects.values_list("type", "idempotency_key")) == [("send-invoice", "invoice-0042")]
