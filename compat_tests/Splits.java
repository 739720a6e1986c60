import java.io.*;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

/**
 * Writes to and reads from a topic whose partitions split, with metadata asked for every half second.
 *
 * <p>Arguments: bootstrap servers, topic, and "write" or how to read ("consumer", "classic", "share", as a group of
 * that name) with the number of different records. A writer reads numbers from standard input, writes all from where
 * it is up to each, under the keys a and d, and answers with a line. A reader prints "partition key value" the
 * first time that it sees a record, and commits after each poll.
 */
public final class Splits {
    private static final Duration STEP = Duration.ofMillis(250);
    private static final long PATIENCE_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        switch (arguments[2]) {
            case "write" -> write(arguments[0], arguments[1]);
            case "share" -> share(arguments[0], arguments[1], Integer.parseInt(arguments[3]));
            default -> read(arguments[0], arguments[1], arguments[2], Integer.parseInt(arguments[3]));
        }
    }

    private static Map<String, Object> configs(String bootstrap) {
        return new HashMap<>(Map.of("bootstrap.servers", bootstrap, "metadata.max.age.ms", 500));
    }

    private static void write(String bootstrap, String topic) throws Exception {
        var configs = configs(bootstrap);
        configs.put("linger.ms", 2);
        var lines = new BufferedReader(new InputStreamReader(System.in));
        try (var producer = new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer())) {
            int number = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                var sent = new ArrayList<java.util.concurrent.Future<RecordMetadata>>();
                for (; number < Integer.parseInt(line); number++) {
                    for (String key : List.of("a", "d")) {
                        sent.add(producer.send(new ProducerRecord<>(topic, key, "" + number)));
                    }
                }
                for (var one : sent) {
                    one.get();
                }
                System.out.println("written " + number);
            }
        }
    }

    private static boolean isNew(Set<String> seen, ConsumerRecord<String, String> record) {
        if (!seen.add(record.key() + " " + record.value())) {
            return false;
        }
        System.out.println(record.partition() + " " + record.key() + " " + record.value());
        return true;
    }

    private static void read(String bootstrap, String topic, String protocol, int wanted) {
        var configs = configs(bootstrap);
        configs.put("group.id", topic + "-java-" + protocol);
        configs.put("group.protocol", protocol);
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", false);
        if (protocol.equals("classic")) {
            configs.put("heartbeat.interval.ms", 500);
            configs.put("session.timeout.ms", 10_000);
        }
        Set<String> seen = new HashSet<>();
        long last = System.currentTimeMillis();
        try (var consumer = new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (seen.size() < wanted) {
                for (var record : consumer.poll(STEP)) {
                    last = isNew(seen, record) ? System.currentTimeMillis() : last;
                }
                try {
                    consumer.commitSync();
                } catch (CommitFailedException | RebalanceInProgressException rebalance) {
                    continue; // what it has read comes again
                }
                if (System.currentTimeMillis() - last > PATIENCE_MS) {
                    throw new IllegalStateException("no new record within a minute, after " + seen.size());
                }
            }
        }
    }

    private static void share(String bootstrap, String topic, int wanted) {
        var configs = configs(bootstrap);
        configs.put("group.id", topic + "-java-share");
        Set<String> seen = new HashSet<>();
        long last = System.currentTimeMillis();
        try (var member = new KafkaShareConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
            member.subscribe(List.of(topic));
            while (seen.size() < wanted) {
                for (var record : member.poll(STEP)) {
                    last = isNew(seen, record) ? System.currentTimeMillis() : last;
                }
                if (System.currentTimeMillis() - last > PATIENCE_MS) {
                    throw new IllegalStateException("no new record within a minute, after " + seen.size());
                }
            }
            member.commitSync();
        }
    }
}
