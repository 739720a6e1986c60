"use strict";
// The programs' side of the contract in ../README.md, for those written in JavaScript.

const readline = require("node:readline");

const NUMBERS_AT_A_TIME = 10; // every 10 ms: about 1,000 a second
const PAUSE_MS = 10;
const UNANSWERED_MAX = 200;
const PATIENCE_MS = 60_000;
const SILENCE_MS = 6_000; // ends reading to the end with clients that do not tell their position
const PROGRESS_EVERY = 100;

/** The client itself has no such thing. */
class Cannot extends Error {}

function say(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

async function answer(operations, request) {
  try {
    const operation = operations[request.operation];
    if (typeof operation === "string") throw new Cannot(operation);
    return { ok: (await operation(request)) ?? {} };
  } catch (error) {
    return error instanceof Cannot ? { cannot: error.message } : { error: String(error?.stack ?? error) };
  }
}

/** Answer requests until standard input ends; an operation that is a text says why the client cannot. */
async function serve(operations) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    say(await answer(operations, JSON.parse(line)));
  }
  process.exit(0);
}

/** A reporter of progress in steps. */
class Progress {
  told = 0;

  tell(count) {
    if (Math.floor(count / PROGRESS_EVERY) > Math.floor(this.told / PROGRESS_EVERY)) {
      this.told = count;
      say({ progress: count });
    }
  }
}

/** Records as the contract has them; one that comes again is left out. */
class Records {
  all = [];
  seen = new Set();
  progress = new Progress();

  add(record) {
    const place = `${record.partition}/${record.offset}`;
    if (this.seen.has(place)) return;
    this.seen.add(place);
    this.all.push(record);
    this.progress.tell(this.all.length);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (data) => (data === null || data === undefined ? null : data.toString());

module.exports = {
  Cannot, NUMBERS_AT_A_TIME, PATIENCE_MS, PAUSE_MS, Progress, Records, SILENCE_MS, UNANSWERED_MAX, pause, serve, text,
};
