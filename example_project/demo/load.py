"""The demo's input: orders from a file, images drawn with Pillow."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from django.conf import settings
from PIL import Image, ImageDraw

from example_project.models import Order, OrderLine

ORDERS = Path(__file__).resolve().parent.parent / "data" / "orders.csv"
FOLDERS = ("lamps", "shelves", "chairs", "mugs")
IMAGES_PER_FOLDER = 5
IMAGE_SIZE = (2000, 1500)


def load_orders(run: str) -> list[Order]:
    """Store the orders of ``data/orders.csv`` under numbers that begin with ``run``."""
    orders: dict[str, Order] = {}
    lines = []
    with ORDERS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            number = f"{run}-{row['order']}"
            if number not in orders:
                orders[number] = Order.objects.create(number=number, email=row["email"])
            lines.append(
                OrderLine(
                    order=orders[number],
                    item=row["item"],
                    quantity=int(row["quantity"]),
                    unit_price=Decimal(row["unit_price"]),
                )
            )
    OrderLine.objects.bulk_create(lines)
    return list(orders.values())


def draw_images(run: str) -> list[str]:
    """Draw some images for each folder; returns the folders, as ``make-thumbnails`` wants them."""
    for name in FOLDERS:
        folder = _path(f"{run}/{name}")
        folder.mkdir(parents=True)
        for number in range(1, IMAGES_PER_FOLDER + 1):
            image = Image.linear_gradient("L").resize(IMAGE_SIZE).convert("RGB")
            draw = ImageDraw.Draw(image)
            draw.ellipse((500, 250, 1500, 1250), fill=(40 * number, 90, 160))
            draw.text((40, 40), f"{name} {number}", fill=(255, 255, 255))
            image.save(folder / f"{name}-{number}.jpg", "JPEG")
    return [f"{run}/{name}" for name in FOLDERS]


def count_thumbnails(folders: Iterable[str]) -> dict[str, int]:
    """How many readable thumbnails each folder has."""
    counts = {}
    for folder in folders:
        counts[folder] = 0
        for file in _path(folder).glob("thumbnails/*.jpg"):
            with Image.open(file) as image:
                image.verify()
            counts[folder] += 1
    return counts


def _path(folder: str) -> Path:
    return Path(settings.SHOP_IMAGES_DIR) / folder
