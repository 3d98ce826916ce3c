"""The shop's handlers, each on real input."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from django.core.mail import EmailMessage
from PIL import Image

from django_jobqueue import Cancelled, PermanentFailure
from example_project import partners
from example_project.demo.gateway import Gateway
from example_project.demo.web_hook import WebHook
from example_project.jobs import charge_card, make_thumbnails, post_webhook, send_invoice
from example_project.mail import EmailBackend
from example_project.models import Order


@pytest.fixture
def order(db):
    order = Order.objects.create(number="0042", email="customer@example.com")
    order.lines.create(item="Desk <lamp>", quantity=2, unit_price=Decimal("39.90"))
    order.lines.create(item="Light bulb", quantity=1, unit_price=Decimal("4.50"))
    return order


@dataclass
class StandIn:
    """As much of a running job as the shop's handlers use; ``cancel_after`` counts heartbeats."""

    id: int = 1
    idempotency_key: str | None = None
    cancel_after: int | None = None
    progress: list[dict[str, int]] = field(default_factory=list)

    @property
    def cancel_requested(self) -> bool:
        return self.cancel_after == len(self.progress)

    def heartbeat(self, *, progress):
        self.progress.append(progress)


def run(handler, key=None, **payload):
    return handler(StandIn(idempotency_key=key), **payload)


def test_an_invoice_shows_the_lines_and_the_total(order, mailoutbox):
    run(send_invoice, order_id=order.pk)
    [mail] = mailoutbox
    assert mail.to == ["customer@example.com"]
    assert ["Desk", "<lamp>", "2", "79.80", "EUR"] in [line.split() for line in mail.body.splitlines()]
    assert ["Total", "84.30", "EUR"] in [line.split() for line in mail.body.splitlines()]


def test_an_invoice_in_html_escapes_what_the_shop_sells(order, mailoutbox):
    run(send_invoice, order_id=order.pk)
    [mail] = mailoutbox
    assert "Desk &lt;lamp&gt;" in mail.alternatives[0].content


def test_an_invoice_carries_the_key_of_its_job_as_message_id(order, mailoutbox):
    run(send_invoice, "invoice-0042", order_id=order.pk)
    assert mailoutbox[0].message()["Message-ID"] == "<invoice-0042@shop.example>"


def test_an_order_that_does_not_exist_fails_for_good(db):
    with pytest.raises(PermanentFailure, match="order_id"):
        run(send_invoice, order_id=1)


def mail(message_id):
    return EmailMessage(
        "Hello", "Body", "a@example.com", ["b@example.com"], headers={"Message-ID": message_id}
    )


def test_a_mail_becomes_a_file_that_mail_programs_open(tmp_path):
    EmailBackend(file_path=tmp_path).send_messages([mail("<one@shop.example>")])
    [file] = tmp_path.iterdir()
    assert file.name == "one@shop.example.eml"
    assert b"Subject: Hello" in file.read_bytes()


def test_a_mail_sent_again_is_kept_once(tmp_path):
    backend = EmailBackend(file_path=tmp_path)
    assert [backend.send_messages([mail("<one@shop.example>")]) for _ in range(2)] == [1, 1]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_message_id_cannot_name_a_file_elsewhere(tmp_path):
    folder = tmp_path / "mail"
    EmailBackend(file_path=folder).send_messages([mail("<../../x@shop.example>")])
    assert [file.parent for file in tmp_path.rglob("*.eml")] == [folder]


@pytest.fixture
def images(tmp_path, settings):
    settings.SHOP_IMAGES_DIR = tmp_path
    folder = tmp_path / "lamps"
    folder.mkdir()
    Image.new("RGBA", (800, 400), "red").save(folder / "a.png")
    Image.new("RGB", (400, 800), "blue").save(folder / "b.jpg")
    (folder / "notes.txt").write_text("no image")
    return folder


def test_each_image_of_a_folder_gets_a_thumbnail(images):
    assert run(make_thumbnails, folder="lamps", size=100) == {"thumbnails": 2}
    sizes = {file.name: Image.open(file).size for file in (images / "thumbnails").iterdir()}
    assert sizes == {"a.jpg": (100, 50), "b.jpg": (50, 100)}


def test_thumbnails_tell_how_far_they_are(images):
    job = StandIn()
    make_thumbnails(job, folder="lamps")
    assert job.progress == [{"done": 1, "of": 2}, {"done": 2, "of": 2}]


def test_thumbnails_stop_when_a_cancel_is_requested(images):
    with pytest.raises(Cancelled, match="1 of 2"):
        make_thumbnails(StandIn(cancel_after=1), folder="lamps")


@pytest.mark.parametrize("folder", ["nowhere", "../", "/etc"])
def test_a_folder_outside_the_images_is_refused(images, folder):
    with pytest.raises(PermanentFailure, match="folder"):
        run(make_thumbnails, folder=folder)


def test_a_charge_asks_the_gateway_for_the_total_in_cents(order, settings):
    with Gateway() as gateway:
        settings.SHOP_GATEWAY_URL = gateway.url
        result = run(charge_card, "charge-0042", order_id=order.pk)
    assert result == {"charge": "ch-charge-0042", "cents": 8430}


def test_a_key_is_charged_once_however_often_it_is_sent(order, settings):
    with Gateway() as gateway:
        settings.SHOP_GATEWAY_URL = gateway.url
        for _ in range(3):
            partners.charge(order, key="k")
    assert (gateway.requests["k"], gateway.charges["k"]) == (3, 1)


def test_a_refused_charge_is_an_error_and_charges_nothing(order, settings):
    with Gateway(refuse=["k"]) as gateway:
        settings.SHOP_GATEWAY_URL = gateway.url
        with pytest.raises(partners.PartnerError, match="answered 503"):
            partners.charge(order, key="k")
    assert gateway.charges["k"] == 0


def test_a_charge_without_an_answer_is_told_as_in_doubt(order, settings):
    with Gateway(drop=["k"]) as gateway:
        settings.SHOP_GATEWAY_URL = gateway.url
        with pytest.raises(partners.PartnerError, match="not known"):
            partners.charge(order, key="k")
    assert gateway.charges["k"] == 1


def test_a_gateway_that_is_not_there_is_told_as_not_asked(order, settings):
    with Gateway() as gateway:
        settings.SHOP_GATEWAY_URL = gateway.url
    with pytest.raises(partners.PartnerError, match="not asked"):
        partners.charge(order, key="k")


def test_a_gateway_that_is_not_set_says_which_setting(order, settings):
    settings.SHOP_GATEWAY_URL = ""
    with pytest.raises(partners.PartnerError, match="SHOP_GATEWAY_URL"):
        run(charge_card, order_id=order.pk)


def test_a_charge_is_never_retried_by_itself(order):
    assert charge_card.enqueue(order_id=order.pk).max_retries == 0


def test_the_web_hook_takes_an_event_at_the_third_time_and_once(order, settings):
    with WebHook() as web_hook:
        settings.SHOP_WEBHOOK_URL = web_hook.url
        for _ in range(2):
            with pytest.raises(partners.PartnerError, match="answered 500"):
                run(post_webhook, "paid-1", order_id=order.pk, event="paid")
        for _ in range(2):
            assert run(post_webhook, "paid-1", order_id=order.pk, event="paid") == {"event": "paid-1"}
    assert web_hook.accepted["paid-1"] == 1
