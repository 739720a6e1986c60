/* Loads through librdkafka, in C, so that the client is not what is measured:

       load produce NAME=VALUE …     one producer at full speed
       load consume NAME=VALUE …     one consumer, every partition from offset 0
       load small   NAME=VALUE …     many producers, one record in a request

   native.py builds and runs it, and says what the names mean; the last line of its output is JSON.  Only what
   is needed of librdkafka's interface is declared here: its headers are not in the wheel that brings it.  */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;

typedef struct {
  int err;
  rd_kafka_topic_t *topic;
  int32_t partition;
  void *payload;
  size_t len;
  void *key;
  size_t key_len;
  int64_t offset;
  void *opaque;
} rd_kafka_message_t;

enum { PRODUCER = 0, CONSUMER = 1, NAMES_PARTITION = 0x8, QUEUE_FULL = -184, UNASSIGNED = -1 };

extern rd_kafka_conf_t *rd_kafka_conf_new(void);
extern int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
extern void rd_kafka_conf_set_opaque(rd_kafka_conf_t *, void *);
extern void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *,
                                        void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
extern rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
extern rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
extern int rd_kafka_produce_batch(rd_kafka_topic_t *, int32_t, int, rd_kafka_message_t *, int);
extern int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
extern int rd_kafka_poll(rd_kafka_t *, int);
extern int rd_kafka_outq_len(rd_kafka_t *);
extern int rd_kafka_last_error(void);
extern const char *rd_kafka_err2str(int);
extern rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
extern int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
extern ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
extern void rd_kafka_message_destroy(rd_kafka_message_t *);
extern int rd_kafka_query_watermark_offsets(rd_kafka_t *, const char *, int32_t, int64_t *, int64_t *, int);

/* ---- what the command line says ------------------------------------------------------------------- */

static char **names;
static int name_count;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static const char *text_of(const char *name) {
  size_t length = strlen(name);
  for (int place = 0; place < name_count; place++)
    if (!strncmp(names[place], name, length) && names[place][length] == '=')
      return names[place] + length + 1;
  fail(name, "is not given");
  return NULL;
}

static double number_of(const char *name) { return strtod(text_of(name), NULL); }

/* ---- clocks, and the start ------------------------------------------------------------------------ */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void wait_for_start(void) {
  if (!number_of("wait_for_start"))
    return;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF)
    fail("start", "the input ended before the start");
}

/* ---- clients -------------------------------------------------------------------------------------- */

static void report(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque);

/* Every `set.NAME=VALUE` of the command line is a setting of librdkafka.  */
static rd_kafka_t *new_client(int kind, void *opaque) {
  char problem[512];
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  for (int place = 0; place < name_count; place++) {
    if (strncmp(names[place], "set.", 4))
      continue;
    char *name = strdup(names[place] + 4), *value = strchr(name, '=');
    *value++ = 0;
    if (rd_kafka_conf_set(conf, name, value, problem, sizeof problem))
      fail(name, problem);
    free(name);
  }
  rd_kafka_conf_set_opaque(conf, opaque);
  if (kind == PRODUCER)
    rd_kafka_conf_set_dr_msg_cb(conf, report);
  rd_kafka_t *client = rd_kafka_new(kind, conf, problem, sizeof problem);
  if (!client)
    fail("client", problem);
  return client;
}

static rd_kafka_topic_t *topic_of(rd_kafka_t *client) {
  rd_kafka_topic_t *topic = rd_kafka_topic_new(client, text_of("topic"), NULL);
  if (!topic)
    fail("topic", rd_kafka_err2str(rd_kafka_last_error()));
  return topic;
}

/* Random bytes: nothing between here and the disk can compress them.  */
static unsigned char *noise(size_t size) {
  unsigned char *bytes = malloc(size);
  uint64_t state = 88172645463325252ull;
  for (size_t place = 0; place < size; place++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    bytes[place] = (unsigned char)state;
  }
  return bytes;
}

/* ---- produce -------------------------------------------------------------------------------------- */

static rd_kafka_t *producer;
static rd_kafka_message_t *ring;
static int ring_length, at_once, ring_next;

/* With keys, librdkafka chooses the partitions, and each key comes once in the ring.  */
static void make_ring(int record_bytes, int partitions, int keys) {
  at_once = 65536 / record_bytes > 0 ? 65536 / record_bytes : 1;
  ring_length = keys > at_once ? keys : partitions * ((at_once + partitions - 1) / partitions);
  unsigned char *bytes = noise((size_t)record_bytes + (size_t)ring_length);
  ring = calloc((size_t)(ring_length + at_once), sizeof *ring);
  for (int place = 0; place < ring_length + at_once; place++) {
    ring[place].partition = place % partitions;
    ring[place].payload = bytes + place % ring_length;
    ring[place].len = (size_t)record_bytes;
    if (keys) {
      ring[place].partition = UNASSIGNED;
      ring[place].key = malloc(24);
      ring[place].key_len = (size_t)sprintf(ring[place].key, "key-%08d", place % ring_length % keys);
    }
  }
}

/* Hand over up to `at_most` records, which librdkafka reads where they lie; return how many it took.  */
static int64_t send_some(rd_kafka_topic_t *topic, int64_t at_most) {
  int count = at_most < at_once ? (int)at_most : at_once;
  for (int place = 0; place < count; place++)
    ring[ring_next + place].err = 0;
  int taken = rd_kafka_produce_batch(topic, 0, NAMES_PARTITION, ring + ring_next, count);
  ring_next = (ring_next + taken) % ring_length;
  rd_kafka_poll(producer, taken ? 0 : 1);
  return taken;
}

static int wait_until_empty(double seconds) {
  double deadline = now() + seconds;
  while (rd_kafka_outq_len(producer) && now() < deadline)
    rd_kafka_poll(producer, 1);
  return rd_kafka_outq_len(producer);
}

static void produce(void) {
  int partitions = (int)number_of("partitions");
  int64_t wanted = (int64_t)number_of("records"), sent = 0;
  double seconds = number_of("seconds");
  producer = new_client(PRODUCER, NULL);
  rd_kafka_topic_t *topic = topic_of(producer);
  make_ring((int)number_of("record_bytes"), partitions, (int)number_of("keys"));
  for (int round = 0; round < (int)number_of("warm_up_rounds"); round++) {
    for (int64_t left = (int64_t)number_of("warm_up_round"); left;)
      left -= send_some(topic, left);
    if (wait_until_empty(90))
      fail("warm-up", "records were not acknowledged");
  }
  wait_for_start();
  double cpu = cpu_seconds(), started = now();
  double deadline = seconds > 0 ? started + seconds : 1e18;
  if (!wanted)
    wanted = INT64_MAX;
  while (sent < wanted && now() < deadline)
    sent += send_some(topic, wanted - sent);
  int missing = wait_until_empty(number_of("flush_seconds"));
  double ended = now();
  printf("{\"records\": %lld, \"warm_records\": %lld, \"unacknowledged\": %d, \"seconds\": %.9g, "
         "\"started_at\": %.9f, \"ended_at\": %.9f, \"client_cpu_seconds\": %.6g}\n",
         (long long)(sent - missing),
         (long long)(number_of("warm_up_round") * number_of("warm_up_rounds")), missing, ended - started,
         started, ended, cpu_seconds() - cpu);
}

/* ---- consume -------------------------------------------------------------------------------------- */

enum { READ_AT_ONCE = 10000 };

static int64_t read_some(rd_kafka_queue_t *queue, int timeout_ms, size_t record_bytes) {
  static rd_kafka_message_t *found[READ_AT_ONCE];
  ssize_t count = rd_kafka_consume_batch_queue(queue, timeout_ms, found, READ_AT_ONCE);
  if (count < 0)
    fail("reading", rd_kafka_err2str(rd_kafka_last_error()));
  for (ssize_t place = 0; place < count; place++) {
    if (found[place]->err)
      fail("reading", rd_kafka_err2str(found[place]->err));
    if (found[place]->len != record_bytes)
      fail("reading", "a record has another size than was written");
    rd_kafka_message_destroy(found[place]);
  }
  return count;
}

static void check_stored(rd_kafka_t *client, int partitions, int64_t wanted) {
  int64_t stored = 0;
  for (int partition = 0; partition < partitions; partition++) {
    int64_t low, high;
    int code =
        rd_kafka_query_watermark_offsets(client, text_of("topic"), partition, &low, &high, 10000);
    if (code)
      fail("watermarks", rd_kafka_err2str(code));
    stored += high - low;
  }
  if (!number_of("wait_for_start") && stored != wanted)
    fail("consume", "the topic has another number of records than were acknowledged");
}

static void start_reading(rd_kafka_topic_t *topic, int partitions, rd_kafka_queue_t *queue) {
  for (int partition = 0; partition < partitions; partition++)
    if (rd_kafka_consume_start_queue(topic, partition, 0, queue))
      fail("start of reading", rd_kafka_err2str(rd_kafka_last_error()));
}

static void consume(void) {
  int partitions = (int)number_of("partitions");
  int64_t wanted = (int64_t)number_of("records"), count = 0;
  size_t record_bytes = (size_t)number_of("record_bytes");
  rd_kafka_t *client = new_client(CONSUMER, NULL);
  rd_kafka_topic_t *topic = topic_of(client);
  check_stored(client, partitions, wanted);
  rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
  int waits = number_of("wait_for_start") != 0;
  if (waits)
    start_reading(topic, partitions, queue);
  wait_for_start();
  double cpu = cpu_seconds(), started = now(), ended = started;
  if (!waits)
    start_reading(topic, partitions, queue);
  while (count < wanted) {
    int64_t taken = read_some(queue, 100, record_bytes);
    count += taken;
    ended = now();
    if (!taken && ended - started > number_of("limit_seconds"))
      fail("consume", "records are missing at the time limit");
  }
  count += read_some(queue, 300, record_bytes);
  if (count != wanted)
    fail("consume", "more records were read than were acknowledged");
  printf("{\"records\": %lld, \"seconds\": %.9g, \"started_at\": %.9f, \"ended_at\": %.9f, "
         "\"client_cpu_seconds\": %.6g}\n",
         (long long)count, ended - started, started, ended, cpu_seconds() - cpu);
}

/* ---- small requests ------------------------------------------------------------------------------- */

typedef struct {
  pthread_t thread;
  rd_kafka_t *client;
  rd_kafka_topic_t *topic;
  int32_t partition;
  int in_flight, open;
  int64_t acknowledged;
  float *latencies;
  size_t room;
  double counts_from, deadline;
} Sender;

static unsigned char *small_record;

static void report(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
  (void)client;
  if (message->err)
    fail("a record was not acknowledged", rd_kafka_err2str(message->err));
  Sender *sender = opaque;
  if (!sender)
    return;
  sender->open--;
  double sent_at, at = now();
  memcpy(&sent_at, &message->opaque, sizeof sent_at);
  if (sent_at < sender->counts_from || at > sender->deadline)
    return;
  if ((size_t)sender->acknowledged == sender->room) {
    sender->room = sender->room ? 2 * sender->room : 4096;
    sender->latencies = realloc(sender->latencies, sender->room * sizeof(float));
  }
  sender->latencies[sender->acknowledged++] = (float)(at - sent_at);
}

static void *send_small(void *argument) {
  Sender *sender = argument;
  size_t size = (size_t)number_of("record_bytes");
  while (now() < sender->deadline) {
    while (sender->open < sender->in_flight) {
      double at = now();
      void *opaque;
      memcpy(&opaque, &at, sizeof opaque);
      if (rd_kafka_produce(sender->topic, sender->partition, 0, small_record, size, NULL, 0, opaque))
        fail("producing", rd_kafka_err2str(rd_kafka_last_error()));
      sender->open++;
    }
    rd_kafka_poll(sender->client, 100);
  }
  while (sender->open)
    rd_kafka_poll(sender->client, 100);
  return NULL;
}

static int by_size(const void *left, const void *right) {
  float a = *(const float *)left, b = *(const float *)right;
  return a < b ? -1 : a > b;
}

/* Every connection is up, and every partition written to, before the clock runs.  */
static Sender *small_senders(int count) {
  Sender *senders = calloc((size_t)count, sizeof *senders);
  for (int place = 0; place < count; place++) {
    Sender *sender = senders + place;
    sender->client = new_client(PRODUCER, sender);
    sender->topic = topic_of(sender->client);
    sender->partition = place % (int)number_of("partitions");
    sender->in_flight = 1;
    sender->counts_from = sender->deadline = now() + 0.3;
    if (pthread_create(&sender->thread, NULL, send_small, sender))
      fail("thread", strerror(errno));
  }
  for (int place = 0; place < count; place++)
    pthread_join(senders[place].thread, NULL);
  return senders;
}

static void small(void) {
  int count = (int)number_of("connections");
  int64_t total = 0;
  small_record = noise((size_t)number_of("record_bytes"));
  Sender *senders = small_senders(count);
  wait_for_start();
  double cpu = cpu_seconds(), started = now(), seconds = number_of("seconds");
  for (int place = 0; place < count; place++) {
    senders[place].in_flight = (int)number_of("in_flight");
    senders[place].counts_from = started;
    senders[place].deadline = started + seconds;
    senders[place].acknowledged = 0;
    if (pthread_create(&senders[place].thread, NULL, send_small, senders + place))
      fail("thread", strerror(errno));
  }
  for (int place = 0; place < count; place++) {
    pthread_join(senders[place].thread, NULL);
    total += senders[place].acknowledged;
  }
  float *all = malloc((size_t)(total + 1) * sizeof(float)), *end = all;
  for (int place = 0; place < count; place++) {
    memcpy(end, senders[place].latencies, (size_t)senders[place].acknowledged * sizeof(float));
    end += senders[place].acknowledged;
  }
  qsort(all, (size_t)total, sizeof *all, by_size);
  printf("{\"requests\": %lld, \"seconds\": %.9g, \"p50_ms\": %.6g, \"p99_ms\": %.6g, "
         "\"client_cpu_seconds\": %.6g}\n",
         (long long)total, seconds, total ? all[total / 2] * 1e3 : 0,
         total ? all[total * 99 / 100] * 1e3 : 0, cpu_seconds() - cpu);
}

int main(int count, char **words) {
  if (count < 2)
    fail("load", "give produce, consume or small");
  names = words + 2;
  name_count = count - 2;
  if (!strcmp(words[1], "produce"))
    produce();
  else if (!strcmp(words[1], "consume"))
    consume();
  else if (!strcmp(words[1], "small"))
    small();
  else
    fail(words[1], "is no load");
  fflush(stdout);
  /* Not exit: a library that still tries to deliver what was given up would delay the end.  */
  _Exit(0);
}
