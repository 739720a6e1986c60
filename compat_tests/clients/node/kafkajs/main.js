"use strict";
// The program of KafkaJS.

const { randomUUID } = require("node:crypto");
const { readFileSync } = require("node:fs");
const zstd = require("@bokuweb/zstd-wasm");
const kafkajs = require("kafkajs");
const lz4 = require("lz4js");
const xxh32 = require("lz4js/xxh32.js");
const snappy = require("snappyjs");

const {
  NUMBERS_AT_A_TIME, PATIENCE_MS, PAUSE_MS, Progress, Records, SILENCE_MS, pause, serve, text,
} = require("../contract.js");

const { CompressionCodecs, CompressionTypes } = kafkajs;
const TOPIC = kafkajs.ConfigResourceTypes.TOPIC;
const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);

/** Read snappy as librdkafka and Go write it, or in the frames of xerial's snappy for Java. */
function unsnappy(data) {
  if (!data.subarray(0, 8).equals(XERIAL)) return Buffer.from(snappy.uncompress(data));
  const parts = [];
  for (let position = 16; position < data.length; ) {
    const size = data.readInt32BE(position);
    parts.push(Buffer.from(snappy.uncompress(data.subarray(position + 4, position + 4 + size))));
    position += 4 + size;
  }
  return Buffer.concat(parts);
}

/** Write an lz4 frame of one block, whose head says that no block needs another: Kafka takes no other frames. */
function lz4Frame(data) {
  const frame = lz4.compress(data);
  frame[4] |= 0x20;
  frame[6] = (xxh32.hash(0, frame, 4, 2) >> 8) & 0xff;
  return frame;
}

const codec = (compress, decompress) => () => ({
  compress: async (encoder) => Buffer.from(compress(encoder.buffer)),
  decompress: async (data) => Buffer.from(decompress(data)),
});
CompressionCodecs[CompressionTypes.Snappy] = codec((data) => snappy.compress(data), unsnappy);
CompressionCodecs[CompressionTypes.LZ4] = codec(lz4Frame, (data) => lz4.decompress(data));
CompressionCodecs[CompressionTypes.ZSTD] = codec((data) => zstd.compress(data), (data) => zstd.decompress(data));

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};
const ACKS = { 0: 0, 1: 1, all: -1 };

function secured({ authority, certificate, mechanism, user, password, bearer }) {
  const own = certificate && readFileSync(certificate, "utf8");
  return {
    ssl: authority && { ca: [readFileSync(authority, "utf8")], ...(own && { key: own, cert: own }) },
    sasl: mechanism && {
      mechanism: mechanism.toLowerCase(),
      ...(bearer ? { oauthBearerProvider: async () => ({ value: bearer }) } : { username: user, password }),
    },
  };
}

function client(request) {
  return new kafkajs.Kafka({
    brokers: [request.bootstrap],
    ...secured(request.security ?? {}),
    logCreator: () => ({ namespace, level, log }) => console.error(level, namespace, log.message, log.error ?? ""),
    logLevel: kafkajs.logLevel.WARN,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: PATIENCE_MS / 500 },
  });
}

async function using(connected, work) {
  await connected.connect();
  try {
    return await work(connected);
  } finally {
    await connected.disconnect();
  }
}

const administer = (work) => (request) => using(client(request).admin(), (admin) => work(admin, request));

const createTopic = administer(async (admin, { topic, partitions, configs }) => {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }] });
});

const deleteTopic = administer((admin, { topic }) => admin.deleteTopics({ topics: [topic] }));

const describeConfig = administer(async (admin, { topic, name }) => {
  const asked = { resources: [{ type: TOPIC, name: topic, configNames: [name] }] };
  return { value: (await admin.describeConfigs(asked)).resources[0].configEntries[0].configValue };
});

const alterConfig = administer(async (admin, { topic, name, value }) => {
  const configEntries = [{ name, value }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: TOPIC, name: topic, configEntries }] });
});

const deleteRecords = administer(async (admin, { topic, partition, before }) => {
  await admin.fetchTopicOffsets(topic); // deleteTopicRecords does not load the metadata that it needs
  await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] });
});

const listOffsets = administer(async (admin, { topic, partition }) => {
  const found = (await admin.fetchTopicOffsets(topic)).find((one) => one.partition === partition);
  return { earliest: Number(found.low), latest: Number(found.high) };
});

function producer(request) {
  return client(request).producer({
    idempotent: request.idempotent,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
}

function message(partition, { key, value, headers, timestamp }) {
  const named = {};
  for (const [name, one] of headers) named[name] = name in named ? [named[name], one].flat() : one;
  return { partition, key, value, headers: named, timestamp: String(timestamp) };
}

const produce = (request) =>
  using(producer(request), async (connected) => {
    const [answer] = await connected.send({
      topic: request.topic,
      acks: ACKS[request.acks],
      compression: CODECS[request.codec],
      messages: request.records.map((one) => message(request.partition, one)),
    });
    const first = answer?.baseOffset;
    return { offsets: first === undefined ? null : request.records.map((_, index) => Number(first) + index) };
  });

/** One request at a time: sequence numbers of a KafkaJS producer go with the order of answers. */
const produceNumbers = ({ topic, count, ...request }) =>
  using(producer(request), async (connected) => {
    const acked = [];
    const errors = [];
    const progress = new Progress();
    for (let number = 0; number < count; number += NUMBERS_AT_A_TIME) {
      const numbers = Array.from({ length: NUMBERS_AT_A_TIME }, (_, index) => number + index);
      const messages = numbers.map((one) => ({ partition: 0, value: String(one) }));
      try {
        await connected.send({ topic, acks: -1, messages });
        acked.push(...numbers);
      } catch (error) {
        errors.push(...numbers.map(() => String(error)));
      }
      progress.tell(acked.length);
      await pause(PAUSE_MS);
    }
    return { acked, failed: errors.length, first_error: errors[0] };
  });

/** KafkaJS reads in groups only: seek in a group of this request's own. */
async function consume(request) {
  const { latest } = await listOffsets(request);
  if (request.count === null && request.offset >= latest) return { records: [] };
  const groupId = `alone-${randomUUID()}`;
  return read({ ...request, group: groupId }, latest, (reader) =>
    reader.seek({ topic: request.topic, partition: request.partition, offset: String(request.offset) }),
  );
}

async function consumeFromTimestamp(request) {
  const offsets = await using(client(request).admin(), (admin) =>
    admin.fetchTopicOffsetsByTimestamp(request.topic, request.timestamp),
  );
  const { offset } = offsets.find((one) => one.partition === request.partition);
  return consume({ ...request, offset: Number(offset), count: null });
}

const consumeGroup = (request) => read(request, 0, () => {});

const read = (request, latest, begin) => {
  const reader = client(request).consumer({ groupId: request.group, maxWaitTimeInMs: 200, rebalanceTimeout: 5_000 });
  return using(reader, async () => {
    const records = new Records();
    const next = new Map();
    let heard = Date.now();
    const done = () =>
      request.count !== null
        ? records.all.length >= request.count
        : (next.get(request.partition) ?? 0) >= latest || Date.now() - heard > SILENCE_MS;
    await reader.subscribe({ topic: request.topic, fromBeginning: true });
    await reader.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        if ("partition" in request && batch.partition !== request.partition) return;
        heard = Date.now();
        for (const one of batch.messages) records.add(shown(batch.partition, one));
        next.set(batch.partition, Number(batch.lastOffset()) + 1);
      },
    });
    begin(reader);
    for (const deadline = Date.now() + PATIENCE_MS; !done(); await pause(20)) {
      if (Date.now() > deadline) throw new Error(`${records.all.length} records in ${PATIENCE_MS} ms`);
    }
    if (!("partition" in request)) {
      const { topic } = request;
      await reader.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset: `${offset}` })));
    }
    return { records: records.all };
  });
};

function shown(partition, { offset, key, value, headers, timestamp }) {
  return {
    partition,
    offset: Number(offset),
    key: text(key),
    value: text(value),
    headers: Object.entries(headers ?? {}).flatMap(([name, one]) => [one].flat().map((each) => [name, text(each)])),
    timestamp: Number(timestamp),
  };
}

const instance = (request, transactionTimeout = 60_000) =>
  client(request).producer({
    transactionalId: request.transactional_id,
    transactionTimeout,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });

async function beginAndSend(producer, topic, value) {
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ partition: 0, value }] });
  return transaction;
}

const refused = (transaction) => transaction.commit().then(() => ({ refused: false }), () => ({ refused: true }));

const transact = (request) =>
  using(instance(request), async (producer) => {
    for (let number = 0; number < request.count; number++) {
      const transaction = await beginAndSend(producer, request.topic, String(number));
      await (number % 3 === 2 ? transaction.abort() : transaction.commit());
    }
  });

const fence = (request) =>
  using(instance(request), async (producer) => {
    const old = await beginAndSend(producer, request.topic, "old");
    await using(instance(request), async (second) => {
      const young = await beginAndSend(second, request.topic, "young");
      await young.commit();
    });
    return refused(old);
  });

const outlive = (request) =>
  using(instance(request, request.timeout), async (producer) => {
    const transaction = await beginAndSend(producer, request.topic, "late");
    await pause(request.wait);
    return refused(transaction);
  });

const copy = (request) =>
  using(instance(request), (producer) => {
    const { topic, target, group, count } = request;
    const reader = client(request).consumer({ groupId: group, maxWaitTimeInMs: 200, rebalanceTimeout: 5_000 });
    return using(reader, async () => {
      let copied = 0;
      let failure = null;
      await reader.subscribe({ topic, fromBeginning: true });
      await reader.run({
        autoCommit: false,
        eachMessage: async ({ partition, message: { offset, value } }) => {
          if (copied >= count || failure) return;
          try {
            const transaction = await beginAndSend(producer, target, `${value}!`);
            const partitions = [{ partition, offset: String(Number(offset) + 1) }];
            await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions }] });
            await transaction.commit();
            copied++;
          } catch (error) {
            failure = error;
          }
        },
      });
      for (const deadline = Date.now() + PATIENCE_MS; copied < count && !failure; await pause(20)) {
        if (Date.now() > deadline) throw new Error(`${copied} records in ${PATIENCE_MS} ms`);
      }
      if (failure) throw failure;
      return { copied };
    });
  });

async function main() {
  await zstd.init();
  await serve({
    version: () => ({ version: require("kafkajs/package.json").version }),
    create_topic: createTopic,
    delete_topic: deleteTopic,
    describe_config: describeConfig,
    alter_config: alterConfig,
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
}

main();
