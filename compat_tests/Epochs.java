import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Reads a partition as a member of a group while its leader epoch rises, and prints each record's offset and epoch.
 *
 * <p>Arguments: bootstrap servers, topic, group, number of records. Metadata is asked for every half second, so that
 * positions are validated with each epoch it tells. Offsets are committed with their epochs after each poll.
 */
public final class Epochs {
    public static void main(String[] arguments) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("group.id", arguments[2]);
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", false);
        configs.put("metadata.max.age.ms", 500);
        int wanted = Integer.parseInt(arguments[3]);
        long longest = 0;
        try (var consumer = new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[1]));
            System.out.println("ready");
            long last = System.nanoTime();
            for (int found = 0; found < wanted; ) {
                var records = consumer.poll(Duration.ofSeconds(30));
                if (records.isEmpty()) {
                    throw new IllegalStateException("no record within 30 s, after " + found);
                }
                if (found > 0) {
                    longest = Math.max(longest, System.nanoTime() - last);
                }
                last = System.nanoTime();
                for (var record : records) {
                    System.out.println(record.offset() + " " + record.leaderEpoch().orElse(-1));
                    found++;
                }
                consumer.commitSync();
            }
            var committed = consumer.committed(Set.of(new TopicPartition(arguments[1], 0)));
            System.out.println("committed " + committed.values().iterator().next().leaderEpoch().orElse(-1));
        }
        System.err.println("longest wait " + longest / 1_000_000 + " ms");
    }
}
