// Packages come from the peers' own environment; commands ("loop N", "bulk N") are answered with seconds.
const readline = require("readline");

exports.packageOf = (name) => require(process.env.PEER_NODE_MODULES + "/" + name);

exports.serve = async function (commands) {
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, count] = line.split(" ");
    const start = performance.now();
    await commands[command](Number(count));
    console.log((performance.now() - start) / 1000);
  }
};
