"""Orders in the admin, with an action that leaves the slow part to a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from example_project.jobs import send_invoice
from example_project.models import Order, OrderLine

if TYPE_CHECKING:
    OrderAdminBase = admin.ModelAdmin[Order]
    OrderLineBase = admin.TabularInline[OrderLine, Order]
else:
    OrderAdminBase = admin.ModelAdmin
    OrderLineBase = admin.TabularInline


class OrderLineInline(OrderLineBase):
    model = OrderLine
    extra = 0


@admin.register(Order)
class OrderAdmin(OrderAdminBase):
    list_display = ["number", "email", "total", "created_at"]
    search_fields = ["number", "email"]
    inlines = [OrderLineInline]
    actions = ["mail_invoice"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return super().get_queryset(request).prefetch_related("lines")

    @admin.action(description="Mail the invoice", permissions=["change"])
    def mail_invoice(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        """Enqueue a job per order; thanks to its key an invoice asked for twice is mailed once."""
        jobs = [
            send_invoice.using(idempotency_key=f"invoice-{order.number}").enqueue(order_id=order.pk)
            for order in queryset
        ]
        known = sum(job.replayed for job in jobs)
        self.message_user(request, f"Invoices enqueued: {len(jobs) - known}; enqueued before: {known}.")
