"""An e-mail backend that writes each message to a file of its own, which any mail program opens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class EmailBackend(BaseEmailBackend):
    """Writes ``<Message-ID>.eml`` into ``file_path``.

    Like a mailbox that keeps one message per Message-ID, it drops a message that it has already: a sender
    that derives the Message-ID from its job's key may send again after a crash and reaches the customer once.
    """

    def __init__(self, *args: Any, file_path: str | Path | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.folder = Path(settings.EMAIL_FILE_PATH if file_path is None else file_path)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        for email in email_messages:
            message = email.message()
            name = re.sub(r"[^\w.@-]", "", str(message["Message-ID"]))
            file = self.folder / f"{name}.eml"
            if not file.exists():
                # Written aside and moved, so that no half message is left by a process that is killed.
                draft = file.with_suffix(".draft")
                draft.write_bytes(message.as_bytes())
                draft.replace(file)
        return len(email_messages)
