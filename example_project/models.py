"""What the shop sells, and to whom."""

from __future__ import annotations

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models


class Order(models.Model):
    """What a customer bought. Its number is what the keys of its jobs are made of."""

    number = models.CharField(max_length=40, unique=True)
    email = models.EmailField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"order {self.number}"

    @property
    def total(self) -> Decimal:
        """What the customer pays, in euros."""
        return sum((line.total for line in self.lines.all()), Decimal("0.00"))


class OrderLine(models.Model):
    """One item of an order."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    item = models.CharField(max_length=100)
    quantity = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    unit_price = models.DecimalField(
        max_digits=10, decimal_places=2, validators=[MinValueValidator(0)], help_text="Euros."
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.item}"

    @property
    def total(self) -> Decimal:
        """Quantity times price, in euros."""
        return self.quantity * self.unit_price
