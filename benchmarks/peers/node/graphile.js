// graphile-worker: "worker" runs jobs, "client" enqueues them.
const { packageOf, serve } = require("./client.js");
const { note } = require("./counter.js");
const { run, makeWorkerUtils, runMigrations, Logger } = packageOf("graphile-worker");

const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => (level, message) => { if (level === "error") console.error(message); });
const settings = {
  connectionString, concurrentJobs: 24, maxPoolSize: 25, pollInterval: 2000,
  localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0,
};

async function client() {
  await runMigrations({ connectionString, logger });
  const utils = await makeWorkerUtils({ connectionString, logger });
  await serve({
    loop: async (count) => { for (let i = 0; i < count; i++) await utils.addJob("noop", {}); },
    bulk: async (count) => {
      for (let left = count; left > 0; left -= 1000)
        await utils.addJobs(Array.from({ length: Math.min(left, 1000) }, () => ({ identifier: "noop", payload: {} })));
    },
  });
}

async function worker() {
  await run({ logger, preset: { worker: settings }, taskList: { noop: async () => note() } });
}

(process.argv[2] === "worker" ? worker() : client()).catch((error) => { console.error(error); process.exit(1); });
