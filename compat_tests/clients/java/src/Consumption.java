import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The operations of the consumer. */
final class Consumption {
    private Consumption() {}

    private static Consumer<byte[], byte[]> consumer(JsonObject request, Map<String, Object> settings) {
        var all = Contract.secured(request, settings);
        all.put("bootstrap.servers", Contract.string(request, "bootstrap"));
        all.put("enable.auto.commit", false);
        if (request.has("isolation")) {
            all.put("isolation.level", Contract.string(request, "isolation"));
        }
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static TopicPartition partition(JsonObject request) {
        return new TopicPartition(Contract.string(request, "topic"), request.get("partition").getAsInt());
    }

    static JsonObject consume(JsonObject request) {
        var there = partition(request);
        try (var consumer = consumer(request, Map.of("auto.offset.reset", "none"))) {
            consumer.assign(List.of(there));
            consumer.seek(there, request.get("offset").getAsLong());
            return taken(consumer, there, request);
        }
    }

    static JsonObject consumeFromTimestamp(JsonObject request) {
        var there = partition(request);
        try (var consumer = consumer(request, Map.of("auto.offset.reset", "none"))) {
            consumer.assign(List.of(there));
            var found = consumer.offsetsForTimes(Map.of(there, request.get("timestamp").getAsLong())).get(there);
            if (found == null) {
                consumer.seekToEnd(List.of(there));
            } else {
                consumer.seek(there, found.offset());
            }
            return taken(consumer, there, request);
        }
    }

    static JsonObject consumeGroup(JsonObject request) {
        var settings = Map.<String, Object>of(
                "group.id", Contract.string(request, "group"), "auto.offset.reset", "earliest");
        try (var consumer = consumer(request, settings)) {
            consumer.subscribe(List.of(Contract.string(request, "topic")));
            var answer = taken(consumer, null, request);
            consumer.commitSync();
            return answer;
        }
    }

    /** Reads as many records as asked for, or all of the partition up to its end. */
    private static JsonObject taken(Consumer<byte[], byte[]> consumer, TopicPartition there, JsonObject request) {
        boolean toTheEnd = !request.has("count") || request.get("count").isJsonNull();
        long end = toTheEnd ? consumer.endOffsets(List.of(there)).get(there) : 0;
        var records = new JsonArray();
        var seen = new HashSet<String>();
        var progress = new Contract.Progress();
        long deadline = System.currentTimeMillis() + Contract.PATIENCE_MS;
        while (toTheEnd ? consumer.position(there) < end : records.size() < request.get("count").getAsInt()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException(records.size() + " records in " + Contract.PATIENCE_MS + " ms");
            }
            for (var record : consumer.poll(Duration.ofMillis(200))) {
                if (seen.add(record.partition() + "/" + record.offset())) {
                    records.add(shown(record));
                }
            }
            progress.tell(records.size());
        }
        var answer = new JsonObject();
        answer.add("records", records);
        return answer;
    }

    private static JsonObject shown(ConsumerRecord<byte[], byte[]> record) {
        var headers = new JsonArray();
        for (var one : record.headers()) {
            var pair = new JsonArray();
            pair.add(one.key());
            pair.add(Contract.text(one.value()));
            headers.add(pair);
        }
        var fields = new JsonObject();
        fields.addProperty("partition", record.partition());
        fields.addProperty("offset", record.offset());
        fields.add("key", Contract.text(record.key()));
        fields.add("value", Contract.text(record.value()));
        fields.add("headers", headers);
        fields.addProperty("timestamp", record.timestamp());
        return fields;
    }
}
