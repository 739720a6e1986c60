import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A transactional copier over Apache Kafka's client (TV2), the same as reliability/copier.py:
 * {@code Copier ADDRESS NAME SEED INPUT OUTPUT GROUP}.
 *
 * <p>An error that asks for an abort aborts, and it reads again from the group's progress; one that the producer
 * cannot survive ends the process with 75, and its supervisor starts another. SIGTERM ends it after the
 * transaction at work. Source: KIP-98, KIP-447, KIP-890; the example in KafkaProducer's documentation.
 */
public final class Copier {
    private static final int RESTART = 75;
    private static final int ABORT_PERCENT = 15;
    private static final int SIZE_MIN = 500;
    private static final int SIZE_MAX = 750;

    private static volatile boolean stopping;

    private final String output;
    private final Random random;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;

    private Copier(String address, String name, long seed, String output, String group) {
        this.output = output;
        random = new Random(seed + name.hashCode());
        consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers", address,
                        "group.id", group,
                        "client.id", name,
                        "enable.auto.commit", false,
                        "auto.offset.reset", "earliest",
                        "isolation.level", "read_committed",
                        "max.poll.records", SIZE_MIN + random.nextInt(SIZE_MAX - SIZE_MIN + 1),
                        "session.timeout.ms", 2_000,
                        "heartbeat.interval.ms", 500,
                        "reconnect.backoff.max.ms", 500),
                new StringDeserializer(),
                new StringDeserializer());
        producer = new KafkaProducer<>(
                Map.of(
                        "bootstrap.servers", address,
                        "transactional.id", name,
                        "client.id", name,
                        "transaction.timeout.ms", 10_000,
                        "max.block.ms", 30_000,
                        "linger.ms", 5,
                        "reconnect.backoff.max.ms", 500),
                new StringSerializer(),
                new StringSerializer());
    }

    public static void main(String[] arguments) {
        var copier = new Copier(
                arguments[0], arguments[1], Long.parseLong(arguments[2]), arguments[4], arguments[5]);
        var worker = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                worker.join(50_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }));
        try {
            copier.run(arguments[3]);
        } catch (KafkaException | IllegalStateException failure) {
            System.err.println("ends: " + failure);
            // Without close(): that would wait for what cannot succeed.
            Runtime.getRuntime().halt(RESTART);
        }
    }

    private void run(String input) {
        producer.initTransactions();
        consumer.subscribe(List.of(input));
        while (!stopping) {
            var records = consumer.poll(Duration.ofMillis(500));
            if (!records.isEmpty()) {
                copy(records);
            }
        }
        consumer.close();
        producer.close();
    }

    /** Copies the records in a transaction, or reads them again. */
    private void copy(ConsumerRecords<String, String> records) {
        try {
            producer.beginTransaction();
            var progress = new HashMap<TopicPartition, OffsetAndMetadata>();
            for (var record : records) {
                producer.send(new ProducerRecord<>(output, record.partition(), null, record.value()));
                progress.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(progress, consumer.groupMetadata());
            if (random.nextInt(100) < ABORT_PERCENT) {
                producer.abortTransaction();
                rewind();
            } else {
                producer.commitTransaction();
            }
        } catch (KafkaException failure) {
            System.err.println("aborts: " + failure);
            // This raises after an error that the producer cannot survive, and ends the process.
            producer.abortTransaction();
            rewind();
        }
    }

    private void rewind() {
        var assigned = consumer.assignment();
        var committed = consumer.committed(assigned);
        for (var partition : assigned) {
            var known = committed.get(partition);
            consumer.seek(partition, known == null ? 0 : known.offset());
        }
    }
}
