// pg-boss: "worker" runs jobs, "client" enqueues them.
const { packageOf, serve } = require("./client.js");
const { note } = require("./counter.js");
const PgBoss = packageOf("pg-boss");

async function main() {
  const boss = new PgBoss(process.env.DATABASE_URL);
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("noop");
  if (process.argv[2] === "worker") {
    const settings = { batchSize: 500, pollingIntervalSeconds: 0.5 };
    await boss.work("noop", settings, async (jobs) => { for (const _ of jobs) note(); });
    return;
  }
  await serve({
    loop: async (count) => { for (let i = 0; i < count; i++) await boss.send("noop", {}); },
    bulk: (count) => boss.insert(Array.from({ length: count }, () => ({ name: "noop", data: {} }))),
  });
}

main().catch((error) => { console.error(error); process.exit(1); });
