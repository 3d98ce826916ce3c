// A complete worker of the HTTP protocol for Node 20 or later, without packages.
//
//     JOBS_URL=http://127.0.0.1:8000 JOBS_TOKEN=... node examples/workers/worker.mjs
//
// It renews the lease of the job it works on, stops working when the claim is lost, repeats calls whose answer was
// lost, and gives its job back on SIGTERM or SIGINT.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const { JOBS_URL, JOBS_TOKEN } = process.env;
const WORKER_ID = process.env.WORKER_ID ?? `${hostname()}-${process.pid}-node`;
const LEASE = Number(process.env.LEASE_SECONDS ?? 60);
const GRACE = 5; // seconds after a signal; what could not be told to the server by then is left to the lease
const LONGEST_PAUSE = Number(process.env.LONGEST_PAUSE_SECONDS ?? 5);
const HEADERS = { "Content-Type": "application/json", Authorization: `Token ${JOBS_TOKEN}` };

// The work. What it returns is the job's result; what it throws fails the job. `signal` tells it to end early.
async function resizeVideo(payload, signal) {
  await sleep((payload.seconds ?? 0) * 1000, undefined, { signal });
  if (!(payload.width > 0 && payload.height > 0)) throw new Error("width and height must be positive");
  return { pixels: payload.width * payload.height };
}

const HANDLERS = { "resize-video": resizeVideo };

// The server said no: the claim is lost, or this program is wrong.
class Refused extends Error {}

// JSON.parse, but integers of 16 digits and more come as texts: a number of this language holds 53 bits, and would
// turn a long id into that of another job.
function parse(text) {
  const stringOrLong = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
  return JSON.parse(text.replace(stringOrLong, (found) => (found[0] === '"' ? found : `"${found}"`)));
}

// POSTs `body`, again until there is an answer. All calls here carry what makes that safe.
// `givenUp` is asked after each failure; when it says so, the answer is null.
async function call(path, body, givenUp = () => false) {
  for (let pause = 0.1; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    let text, wait = pause;
    try {
      const response = await fetch(JOBS_URL + path, {
        method: "POST",
        headers: HEADERS,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
      text = await response.text();
      if (response.ok) return text ? parse(text) : null;
      if (![429, 500, 502, 503, 504].includes(response.status)) {
        throw new Refused(`${path}: ${response.status} ${text}`);
      }
      wait = Number(response.headers.get("Retry-After") ?? pause);
    } catch (error) {
      if (error instanceof Refused) throw error;
      text = String(error);
    }
    console.error(`${path}: ${text}; again in ${wait} s`);
    if (stopping.signal.aborted) await sleep(Math.min(wait, 1) * 1000);
    else await pauseFor(wait);
    if (givenUp()) return null;
  }
}

const stopping = new AbortController(); // aborted by the first signal
for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => {
  stopping.abort();
  setTimeout(() => process.exit(1), GRACE * 1000).unref();
});

async function pauseFor(seconds) {
  await sleep(seconds * 1000, undefined, { signal: stopping.signal }).catch(() => {});
}

function claim() {
  // The same request_id in every try: a claim whose answer was lost is answered again.
  return call("/jobs/claim", {
    worker_id: WORKER_ID,
    types: Object.keys(HANDLERS),
    lease_seconds: LEASE,
    request_id: randomUUID(),
  }, () => stopping.signal.aborted);
}

// Renews the lease at a third of its time, and aborts the work when there is no use in it any more.
function startHeartbeat(job, work) {
  const body = { fencing_token: job.fencing_token, lease_seconds: LEASE };
  const timer = setInterval(async () => {
    try {
      const lease = await call(`/jobs/${job.id}/heartbeat`, body);
      if (lease.cancel_requested) work.abort();
    } catch (error) {
      console.error(error.message);
      work.abort();
    }
  }, (LEASE * 1000) / 3);
  return () => clearInterval(timer);
}

async function work(job) {
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, stopping.signal]);
  const stopHeartbeat = startHeartbeat(job, ending);
  const token = { fencing_token: job.fencing_token };
  let end, body;
  try {
    signal.throwIfAborted();
    const result = await HANDLERS[job.type](job.payload, signal);
    [end, body] = ["complete", { ...token, result }];
  } catch (error) {
    [end, body] = signal.aborted ? ["release", token] : ["fail", { ...token, error: String(error) }];
  }
  stopHeartbeat();
  try {
    await call(`/jobs/${job.id}/${end}`, body);
  } catch (error) {
    console.error(error.message); // nothing was changed; the job is another worker's now
  }
}

let pause = 0.1;
while (!stopping.signal.aborted) {
  const job = await claim();
  if (job) {
    await work(job);
    pause = 0.1;
  } else {
    await pauseFor(pause);
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }
}
