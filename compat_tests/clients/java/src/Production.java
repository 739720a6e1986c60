import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The operations of the producer. */
final class Production {
    private Production() {}

    private static Producer<byte[], byte[]> producer(JsonObject request, Map<String, Object> settings) {
        var all = Contract.secured(request, settings);
        all.put("bootstrap.servers", Contract.string(request, "bootstrap"));
        all.put("enable.idempotence", request.get("idempotent").getAsBoolean());
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static JsonObject produce(JsonObject request) throws Exception {
        var acks = Contract.string(request, "acks");
        var settings = Map.<String, Object>of(
                "acks", acks, "compression.type", Contract.string(request, "codec"), "linger.ms", 20);
        var sent = new ArrayList<Future<RecordMetadata>>();
        try (var producer = producer(request, settings)) {
            for (var one : request.getAsJsonArray("records")) {
                sent.add(producer.send(record(request, one.getAsJsonObject())));
            }
            producer.flush();
        }
        var offsets = new JsonArray();
        for (var one : sent) {
            offsets.add(one.get().offset());
        }
        var answer = new JsonObject();
        answer.add("offsets", acks.equals("0") ? JsonNull.INSTANCE : offsets);
        return answer;
    }

    private static ProducerRecord<byte[], byte[]> record(JsonObject request, JsonObject fields) {
        var record = new ProducerRecord<>(
                Contract.string(request, "topic"),
                request.get("partition").getAsInt(),
                fields.get("timestamp").getAsLong(),
                Contract.bytes(fields.get("key")),
                Contract.bytes(fields.get("value")));
        for (var header : fields.getAsJsonArray("headers")) {
            var pair = header.getAsJsonArray();
            record.headers().add(pair.get(0).getAsString(), Contract.bytes(pair.get(1)));
        }
        return record;
    }

    static JsonObject produceNumbers(JsonObject request) throws Exception {
        var settings = Map.<String, Object>of(
                "acks", "all", "delivery.timeout.ms", Contract.PATIENCE_MS, "linger.ms", 0);
        var acked = new ArrayList<Integer>();
        List<String> errors = new ArrayList<>();
        var progress = new Contract.Progress();
        var room = new Semaphore(Contract.UNANSWERED_MAX);
        try (var producer = producer(request, settings)) {
            for (int number = 0; number < request.get("count").getAsInt(); number++) {
                room.acquire();
                int sent = number;
                var value = Integer.toString(number).getBytes();
                producer.send(
                        new ProducerRecord<>(Contract.string(request, "topic"), 0, null, value),
                        (metadata, error) -> {
                            // The producer calls back in one thread, its own.
                            room.release();
                            if (error == null) {
                                acked.add(sent);
                                progress.tell(acked.size());
                            } else {
                                errors.add(error.toString());
                            }
                        });
                if (number % Contract.NUMBERS_AT_A_TIME == 0) {
                    Thread.sleep(Contract.PAUSE_MS);
                }
            }
        }
        var answer = new JsonObject();
        var numbers = new JsonArray();
        acked.forEach(numbers::add);
        answer.add("acked", numbers);
        answer.addProperty("failed", errors.size());
        answer.addProperty("first_error", errors.isEmpty() ? null : errors.get(0));
        return answer;
    }
}
