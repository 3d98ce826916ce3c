// The counter of handlers (benchmarks/harness/counter.py) for Node: the same file, a slot given by PEER_SLOT.
const fs = require("fs");
const SLOT = 32;
const slot = Buffer.alloc(24);
let file = null, started = 0n, first = 0n;

exports.note = function () {
  if (file === null) file = fs.openSync(process.env.BENCHMARK_COUNTER, "r+");
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
  started += 1n;
  if (!first) first = now;
  slot.writeBigUInt64LE(started, 0);
  slot.writeBigUInt64LE(first, 8);
  slot.writeBigUInt64LE(now, 16);
  fs.writeSync(file, slot, 0, 24, Number(process.env.PEER_SLOT || "0") * SLOT);
};
