"use strict";
// The program of confluent-kafka-javascript: its callback interface, which is librdkafka's (and node-rdkafka's).

const { once } = require("node:events");
const { promisify } = require("node:util");
const kafka = require("@confluentinc/kafka-javascript");

const {
  NUMBERS_AT_A_TIME, PATIENCE_MS, PAUSE_MS, Progress, Records, UNANSWERED_MAX, pause, serve, text,
} = require("../contract.js");

const WITHIN_MS = 20_000;
const NO_CONFIGS = "kafka-javascript's admin client has no call for configurations";

const call = (target, name, ...rest) => promisify(target[name]).call(target, ...rest);

const NAMES = {
  protocol: "security.protocol", authority: "ssl.ca.location", certificate: "ssl.certificate.location",
  mechanism: "sasl.mechanism", user: "sasl.username", password: "sasl.password",
};

function connected({ bootstrap, security = {} }) {
  const settings = Object.entries(NAMES).flatMap(([field, name]) => (security[field] ? [[name, security[field]]] : []));
  if (security.certificate) settings.push(["ssl.key.location", security.certificate]);
  return { "bootstrap.servers": bootstrap, ...Object.fromEntries(settings) };
}

const administer = (work) => async (request) => {
  const admin = kafka.AdminClient.create(connected(request));
  try {
    return await work(admin, request);
  } finally {
    admin.disconnect();
  }
};

const createTopic = administer((admin, { topic, partitions, configs }) =>
  call(admin, "createTopic", { topic, num_partitions: partitions, replication_factor: 1, config: configs }, WITHIN_MS),
);

const deleteTopic = administer((admin, { topic }) => call(admin, "deleteTopic", topic, WITHIN_MS));

const deleteRecords = administer(async (admin, { topic, partition, before }) => {
  await call(admin, "deleteRecords", [{ topic, partition, offset: before }], { timeout: WITHIN_MS });
});

const offsetAt = async (admin, { topic, partition }, timestamp) => {
  const asked = [{ topic, partition, offset: timestamp }];
  return (await call(admin, "listOffsets", asked, { timeout: WITHIN_MS }))[0].offset;
};

const listOffsets = administer(async (admin, request) => ({
  earliest: await offsetAt(admin, request, kafka.OffsetSpec.EARLIEST),
  latest: await offsetAt(admin, request, kafka.OffsetSpec.LATEST),
}));

async function producing(request, settings, work) {
  const producer = new kafka.Producer({
    ...connected(request),
    "enable.idempotence": request.idempotent,
    "reconnect.backoff.max.ms": 500,
    dr_cb: true,
    ...settings,
  });
  producer.on("event.error", (error) => console.error(String(error)));
  await call(producer, "connect", {});
  producer.setPollInterval(PAUSE_MS);
  try {
    return await work(producer);
  } finally {
    await call(producer, "disconnect", WITHIN_MS);
  }
}

/** An empty buffer that points nowhere would go out as null, so an empty one points into another. */
const EMPTY = Buffer.alloc(1).subarray(0, 0);
const bytes = (one) => (one === null ? null : one === "" ? EMPTY : Buffer.from(one));

const produce = (request) => {
  const { topic, partition, acks, codec } = request;
  const settings = { acks, "compression.codec": codec, "linger.ms": 20 };
  return producing(request, settings, async (producer) => {
    const offsets = [];
    const errors = [];
    producer.on("delivery-report", (error, report) => (error ? errors.push(error) : offsets.push(report.offset)));
    for (const { key, value, headers, timestamp } of request.records) {
      const named = headers.map(([name, one]) => ({ [name]: one }));
      producer.produce(topic, partition, bytes(value), bytes(key), timestamp, null, named);
    }
    while (offsets.length + errors.length < request.records.length) await pause(PAUSE_MS);
    if (errors.length) throw errors[0];
    return { offsets: acks === "0" ? null : offsets };
  });
};

const produceNumbers = (request) => {
  const settings = { acks: "all", "message.timeout.ms": PATIENCE_MS };
  return producing(request, settings, async (producer) => {
    const acked = [];
    const errors = [];
    const progress = new Progress();
    producer.on("delivery-report", (error, report) => {
      if (error) errors.push(String(error));
      else acked.push(report.opaque);
      progress.tell(acked.length);
    });
    const answered = () => acked.length + errors.length;
    for (let number = 0; number < request.count; number++) {
      while (number - answered() >= UNANSWERED_MAX) await pause(PAUSE_MS);
      producer.produce(request.topic, 0, Buffer.from(String(number)), null, null, number);
      if (number % NUMBERS_AT_A_TIME === 0) await pause(PAUSE_MS);
    }
    while (answered() < request.count) await pause(PAUSE_MS);
    return { acked, failed: errors.length, first_error: errors[0] };
  });
};

async function consuming(request, settings, work) {
  const consumer = new kafka.KafkaConsumer(
    {
      ...connected(request),
      "group.id": "never-joined",
      "enable.auto.commit": false,
      "enable.partition.eof": true,
      "reconnect.backoff.max.ms": 500,
      ...settings,
    },
    { "auto.offset.reset": "earliest" },
  );
  consumer.on("event.error", (error) => console.error(String(error)));
  consumer.setDefaultConsumeTimeout(100);
  await call(consumer, "connect", {});
  try {
    return await work(consumer);
  } finally {
    await Promise.all([once(consumer, "disconnected"), consumer.disconnect()]);
  }
}

const consume = (request) =>
  consuming(request, {}, async (consumer) => {
    const { topic, partition, offset } = request;
    const { highOffset } = await call(consumer, "queryWatermarkOffsets", topic, partition, WITHIN_MS);
    if (request.count === null && offset >= highOffset) return { records: [] };
    consumer.assign([{ topic, partition, offset }]);
    return { records: await taken(consumer, request, highOffset) };
  });

const consumeFromTimestamp = async (request) => {
  const { topic, partition, timestamp } = request;
  const found = await consuming(request, {}, (consumer) =>
    call(consumer, "offsetsForTimes", [{ topic, partition, offset: timestamp }], WITHIN_MS),
  );
  return found[0].offset < 0 ? { records: [] } : consume({ ...request, offset: found[0].offset, count: null });
};

const consumeGroup = (request) =>
  consuming(request, { "group.id": request.group }, async (consumer) => {
    consumer.subscribe([request.topic]);
    const records = await taken(consumer, request, 0);
    consumer.commitSync();
    return { records };
  });

async function taken(consumer, request, end) {
  const records = new Records();
  let reached = 0;
  // After the last record there may be offsets without one: the end itself is told when it is reached.
  consumer.on("partition.eof", ({ offset }) => (reached = Math.max(reached, offset)));
  const done = () => (request.count === null ? reached >= end : records.all.length >= request.count);
  for (const deadline = Date.now() + PATIENCE_MS; !done(); ) {
    if (Date.now() > deadline) throw new Error(`${records.all.length} records in ${PATIENCE_MS} ms`);
    for (const one of await call(consumer, "consume", 500)) records.add(shown(one));
  }
  return records.all;
}

function shown({ partition, offset, key, value, headers, timestamp }) {
  const pairs = (headers ?? []).flatMap((one) => Object.entries(one));
  return {
    partition,
    offset,
    key: text(key),
    value: text(value),
    headers: pairs.map(([name, one]) => [name, text(one)]),
    timestamp,
  };
}

async function transacting(request, timeoutMs, work) {
  const settings = { "transactional.id": request.transactional_id, "transaction.timeout.ms": timeoutMs };
  // A delivery may not be waited for longer than the transaction lasts.
  const all = { ...settings, "message.timeout.ms": Math.min(timeoutMs, PATIENCE_MS) };
  return producing({ ...request, idempotent: true }, all, async (producer) => {
    await call(producer, "initTransactions", WITHIN_MS);
    return work(producer);
  });
}

async function beginAndSend(producer, topic, value) {
  await call(producer, "beginTransaction");
  producer.produce(topic, 0, Buffer.from(value), null);
  await call(producer, "flush", WITHIN_MS);
}

const refused = (producer) =>
  call(producer, "commitTransaction", WITHIN_MS).then(() => ({ refused: false }), () => ({ refused: true }));

const transact = (request) =>
  transacting(request, PATIENCE_MS, async (producer) => {
    for (let number = 0; number < request.count; number++) {
      await beginAndSend(producer, request.topic, String(number));
      await call(producer, number % 3 === 2 ? "abortTransaction" : "commitTransaction", WITHIN_MS);
    }
  });

const fence = (request) =>
  transacting(request, PATIENCE_MS, async (old) => {
    await beginAndSend(old, request.topic, "old");
    await transacting(request, PATIENCE_MS, async (young) => {
      await beginAndSend(young, request.topic, "young");
      await call(young, "commitTransaction", WITHIN_MS);
    });
    return refused(old);
  });

const outlive = (request) =>
  transacting(request, request.timeout, async (producer) => {
    await beginAndSend(producer, request.topic, "late");
    await pause(request.wait);
    return refused(producer);
  });

const copy = (request) =>
  transacting(request, PATIENCE_MS, (producer) => {
    const settings = { "group.id": request.group, "isolation.level": "read_committed" };
    return consuming(request, settings, async (consumer) => {
      consumer.subscribe([request.topic]);
      let copied = 0;
      for (const deadline = Date.now() + PATIENCE_MS; copied < request.count; ) {
        if (Date.now() > deadline) throw new Error(`${copied} records in ${PATIENCE_MS} ms`);
        const records = await call(consumer, "consume", 5);
        if (!records.length) continue;
        await call(producer, "beginTransaction");
        for (const { value } of records) producer.produce(request.target, 0, Buffer.from(`${value}!`), null);
        const offsets = consumer.position();
        await call(producer, "sendOffsetsToTransaction", offsets, consumer, WITHIN_MS);
        await call(producer, "commitTransaction", WITHIN_MS);
        copied += records.length;
      }
      return { copied };
    });
  });

serve({
  version: () => {
    const { version } = require("@confluentinc/kafka-javascript/package.json");
    return { version: `${version} (librdkafka ${kafka.librdkafkaVersion})` };
  },
  create_topic: createTopic,
  delete_topic: deleteTopic,
  describe_config: NO_CONFIGS,
  alter_config: NO_CONFIGS,
  delete_records: deleteRecords,
  list_offsets: listOffsets,
  produce,
  produce_numbers: produceNumbers,
  consume,
  consume_from_timestamp: consumeFromTimestamp,
  consume_group: consumeGroup,
  transact,
  fence,
  outlive,
  copy,
});
