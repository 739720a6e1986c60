import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Transactions with Kafka's own client, one scenario for each run; what it has seen is printed, a line each.
 *
 * <p>Arguments: bootstrap servers, scenario, topic, and what the scenario needs.
 */
public final class Transactions {
    private static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        String topic = arguments[2];
        switch (arguments[1]) {
            case "commit-abort" -> commitAndAbort(topic, Integer.parseInt(arguments[3]));
            case "fence" -> fence(topic);
            case "timeout" -> timeout(topic);
            case "copy" -> copy(topic, arguments[3], Integer.parseInt(arguments[4]));
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    private static KafkaProducer<String, String> producer(String id, int timeoutMs) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("transactional.id", id);
        configs.put("transaction.timeout.ms", timeoutMs);
        return new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("group.id", group);
        configs.put("isolation.level", "read_committed");
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", false);
        return new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
    }

    /** Every third transaction is aborted; each writes to all partitions. */
    private static void commitAndAbort(String topic, int transactions) throws Exception {
        try (KafkaProducer<String, String> producer = producer(topic + "-id", 60_000)) {
            producer.initTransactions();
            int partitions = producer.partitionsFor(topic).size();
            for (int number = 0; number < transactions; number++) {
                producer.beginTransaction();
                for (int partition = 0; partition < partitions; partition++) {
                    producer.send(new ProducerRecord<>(topic, partition, null, "" + number));
                }
                if (number % 3 == 2) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        System.out.println("done");
    }

    private static void fence(String topic) throws Exception {
        try (KafkaProducer<String, String> old = producer(topic + "-id", 60_000)) {
            old.initTransactions();
            old.beginTransaction();
            old.send(new ProducerRecord<>(topic, 0, null, "old")).get();
            try (KafkaProducer<String, String> young = producer(topic + "-id", 60_000)) {
                young.initTransactions();
                young.beginTransaction();
                young.send(new ProducerRecord<>(topic, 0, null, "young"));
                try {
                    old.send(new ProducerRecord<>(topic, 0, null, "zombie"));
                    old.commitTransaction();
                    System.out.println("not fenced");
                } catch (KafkaException error) {
                    System.out.println("fenced");
                }
                young.commitTransaction();
            }
        }
    }

    private static void timeout(String topic) throws Exception {
        try (KafkaProducer<String, String> producer = producer(topic + "-id", 1_000)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, "late")).get();
            long end = System.currentTimeMillis() + 60_000;
            try (KafkaConsumer<String, String> consumer = consumer(topic + "-group")) {
                TopicPartition partition = new TopicPartition(topic, 0);
                while (consumer.endOffsets(List.of(partition)).get(partition) == 0
                        && System.currentTimeMillis() < end) {
                    Thread.sleep(100);
                }
            }
            try {
                producer.commitTransaction();
                System.out.println("committed");
            } catch (KafkaException error) {
                System.out.println("refused");
            }
        }
    }

    /** Consume, transform, produce: the offsets are part of the transactions. */
    private static void copy(String from, String to, int count) {
        int copied = 0;
        try (KafkaProducer<String, String> producer = producer(to + "-id", 60_000);
                KafkaConsumer<String, String> consumer = consumer(to + "-group")) {
            producer.initTransactions();
            consumer.subscribe(List.of(from));
            while (copied < count) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(to, record.partition(), null, record.value() + "!"));
                    offsets.put(
                            new TopicPartition(from, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                copied += records.count();
            }
        }
        System.out.println("copied " + copied);
    }
}
