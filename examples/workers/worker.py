"""A complete worker of the HTTP protocol, with nothing but Python's standard library.

    JOBS_URL=http://127.0.0.1:8000 JOBS_TOKEN=... python examples/workers/worker.py

It renews the lease of the job it works on, stops working when the claim is lost, repeats calls whose answer was
lost, and gives its job back on SIGTERM or SIGINT.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ["JOBS_URL"]
HEADERS = {"Content-Type": "application/json", "Authorization": f"Token {os.environ['JOBS_TOKEN']}"}
WORKER_ID = os.environ.get("WORKER_ID", f"{socket.gethostname()}-{os.getpid()}-python")
LEASE = float(os.environ.get("LEASE_SECONDS", "60"))
GRACE = 5  # seconds after a signal; what could not be told to the server by then is left to the lease
LONGEST_PAUSE = float(os.environ.get("LONGEST_PAUSE_SECONDS", "5"))


def resize_video(payload):
    """The work. What it returns is the job's result; what it raises fails the job."""
    time.sleep(payload.get("seconds", 0))
    return {"pixels": payload["width"] * payload["height"]}


HANDLERS = {"resize-video": resize_video}


class Refused(Exception):
    """The server said no: the claim is lost, or this program is wrong."""


class Stopped(BaseException):
    """The work is to end now: on a signal, or because the claim is lost or the job cancelled."""


def call(path, body, given_up=lambda: False):
    """POST ``body``, again until there is an answer. All calls here carry what makes that safe.

    ``given_up`` is asked after each failure; when it says so, the answer is ``None``.
    """
    pause = 0.1
    while True:
        request = urllib.request.Request(URL + path, json.dumps(body).encode(), HEADERS)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            if error.code not in (429, 500, 502, 503, 504):
                raise Refused(f"{path}: {error.code} {text}") from None
            wait = float(error.headers.get("Retry-After", pause))
        except OSError as error:
            text, wait = str(error), pause
        print(f"{path}: {text}; again in {wait:g} s", file=sys.stderr)
        end = time.monotonic() + wait
        while (left := end - time.monotonic()) > 0 and not given_up():
            time.sleep(min(left, 0.2))
        if given_up():
            return None
        pause = min(LONGEST_PAUSE, pause * 2)


class Worker:
    """Takes one job at a time. ``stopping`` is set by the first signal."""

    def __init__(self):
        self.stopping = False
        self.working = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        signal.signal(signal.SIGUSR1, self.interrupt)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(1))

    def stop(self, *_):
        self.stopping = True
        signal.alarm(GRACE)
        self.interrupt()

    def interrupt(self, *_):
        if self.working:
            self.working = False
            raise Stopped

    def run(self):
        pause = 0.1
        while not self.stopping:
            if job := self.claim():
                self.work(job)
                pause = 0.1
            else:
                end = time.monotonic() + pause
                while (left := end - time.monotonic()) > 0 and not self.stopping:
                    time.sleep(min(left, 0.2))
                pause = min(LONGEST_PAUSE, pause * 2)

    def claim(self):
        # The same request_id in every try: a claim whose answer was lost is answered again.
        return call(
            "/jobs/claim",
            {
                "worker_id": WORKER_ID,
                "types": list(HANDLERS),
                "lease_seconds": LEASE,
                "request_id": str(uuid.uuid4()),
            },
            given_up=lambda: self.stopping,
        )

    def work(self, job):
        token = {"fencing_token": job["fencing_token"]}
        heartbeat = Heartbeat(job)
        try:
            self.working = not self.stopping
            if not self.working:
                raise Stopped
            result = HANDLERS[job["type"]](job["payload"])
            self.working = False
            end, body = "complete", {**token, "result": result}
        except Stopped:
            end, body = "release", token
        except Exception as error:
            self.working = False
            end, body = "fail", {**token, "error": f"{type(error).__name__}: {error}"}
        heartbeat.stop()
        try:
            call(f"/jobs/{job['id']}/{end}", body)
        except Refused as error:  # nothing was changed; the job is another worker's now
            print(error, file=sys.stderr)


class Heartbeat(threading.Thread):
    """Renews a lease at a third of its time, and interrupts the work when there is no use in it any more."""

    def __init__(self, job):
        super().__init__(daemon=True)
        self.job = job
        self.ended = threading.Event()
        self.start()

    def run(self):
        body = {"fencing_token": self.job["fencing_token"], "lease_seconds": LEASE}
        while not self.ended.wait(LEASE / 3):
            try:
                useless = call(f"/jobs/{self.job['id']}/heartbeat", body)["cancel_requested"]
            except Refused as error:
                print(error, file=sys.stderr)
                useless = True
            if useless and not self.ended.is_set():
                os.kill(os.getpid(), signal.SIGUSR1)
                return

    def stop(self):
        self.ended.set()


if __name__ == "__main__":
    Worker().run()
