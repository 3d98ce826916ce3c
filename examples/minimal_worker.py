"""A worker of the HTTP protocol in 15 lines, with nothing but the standard library.

    JOBS_URL=http://127.0.0.1:8000 JOBS_TOKEN=... python examples/minimal_worker.py

It renews no lease, so a job must be done within ``API_LEASE_SECONDS`` (10 minutes by default).
"""

import json
import os
import time
import urllib.request

URL = os.environ["JOBS_URL"]
HEADERS = {"Content-Type": "application/json", "Authorization": f"Token {os.environ['JOBS_TOKEN']}"}


def execute(type, payload):
    """The work. What it returns is the job's result; what it raises fails the job."""
    return {"pixels": payload["width"] * payload["height"]}


def post(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response) if response.status == 200 else None


while True:
    try:
        while job := post("/jobs/claim", {"worker_id": "worker-1"}):
            try:
                verb, body = "complete", {"result": execute(job["type"], job["payload"])}
            except Exception as error:
                verb, body = "fail", {"error": repr(error)}
            post(f"/jobs/{job['id']}/{verb}", body)
    except OSError as error:  # refused or out of reach: the lease brings the job back
        print(error)
    time.sleep(1)
