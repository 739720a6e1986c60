import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The operations of the transactional producer. */
final class Transactions {
    private static final int TIMEOUT_MS = 60_000;

    private Transactions() {}

    private static Producer<String, String> producer(JsonObject request, int timeoutMs) {
        var settings = Contract.secured(request, Map.of(
                "bootstrap.servers", Contract.string(request, "bootstrap"),
                "transactional.id", Contract.string(request, "transactional_id"),
                "transaction.timeout.ms", timeoutMs));
        var made = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    private static void send(Producer<String, String> producer, JsonObject request, String value) throws Exception {
        producer.send(new ProducerRecord<>(Contract.string(request, "topic"), 0, null, value)).get();
    }

    static JsonObject transact(JsonObject request) throws Exception {
        try (var producer = producer(request, TIMEOUT_MS)) {
            for (int number = 0; number < request.get("count").getAsInt(); number++) {
                producer.beginTransaction();
                send(producer, request, String.valueOf(number));
                if (number % 3 == 2) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        return new JsonObject();
    }

    static JsonObject fence(JsonObject request) throws Exception {
        try (var old = producer(request, TIMEOUT_MS)) {
            old.beginTransaction();
            send(old, request, "old");
            try (var young = producer(request, TIMEOUT_MS)) {
                young.beginTransaction();
                send(young, request, "young");
                young.commitTransaction();
            }
            return refused(old);
        }
    }

    static JsonObject outlive(JsonObject request) throws Exception {
        try (var producer = producer(request, request.get("timeout").getAsInt())) {
            producer.beginTransaction();
            send(producer, request, "late");
            Thread.sleep(request.get("wait").getAsInt());
            return refused(producer);
        }
    }

    private static JsonObject refused(Producer<String, String> producer) {
        var answer = new JsonObject();
        try {
            producer.commitTransaction();
            answer.addProperty("refused", false);
        } catch (KafkaException error) {
            answer.addProperty("refused", true);
        }
        return answer;
    }

    static JsonObject copy(JsonObject request) {
        var settings = Contract.secured(request, Map.of(
                "bootstrap.servers", Contract.string(request, "bootstrap"),
                "group.id", Contract.string(request, "group"),
                "isolation.level", "read_committed",
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false,
                "max.poll.records", 5));
        int copied = 0;
        try (var producer = producer(request, TIMEOUT_MS);
                var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(Contract.string(request, "topic")));
            long deadline = System.currentTimeMillis() + Contract.PATIENCE_MS;
            while (copied < request.get("count").getAsInt()) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException(copied + " records in " + Contract.PATIENCE_MS + " ms");
                }
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(Contract.string(request, "target"), 0, null, record.value() + "!"));
                    var there = new TopicPartition(record.topic(), record.partition());
                    offsets.put(there, new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                copied += records.count();
            }
        }
        var answer = new JsonObject();
        answer.addProperty("copied", copied);
        return answer;
    }
}
