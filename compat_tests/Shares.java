import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Share groups with Kafka's own client, one scenario for each run; what it has seen is printed, a line each.
 *
 * <p>Arguments: bootstrap servers, scenario, topic (which names the group, too), and what the scenario needs. A
 * record is printed as its value, and "xN" at its Nth delivery.
 */
public final class Shares {
    private static final Duration STEP = Duration.ofMillis(250);
    private static final long PATIENCE_MS = 30_000;

    private static String bootstrap;
    private static String topic;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[2];
        switch (arguments[1]) {
            case "implicit" -> implicit();
            case "explicit" -> explicit();
            case "callback" -> callback();
            case "renew" -> renew();
            case "acquire" -> acquire(arguments[3]);
            case "expire" -> expire();
            case "poison" -> poison();
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    private static KafkaShareConsumer<String, String> member(String mode, String... settings) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("group.id", topic);
        configs.put("share.acknowledgement.mode", mode);
        for (int index = 0; index < settings.length; index += 2) {
            configs.put(settings[index], settings[index + 1]);
        }
        var member = new KafkaShareConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
        member.subscribe(List.of(topic));
        return member;
    }

    /** Values from a number up to another one, all in one batch. */
    private static void produce(int first, int last) {
        Map<String, Object> configs = Map.of("bootstrap.servers", bootstrap, "linger.ms", 5_000);
        try (var producer = new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer())) {
            for (int number = first; number <= last; number++) {
                producer.send(new ProducerRecord<>(topic, 0, null, "" + number));
            }
            producer.flush();
        }
    }

    /** Poll once, or again until something comes. */
    private static List<ConsumerRecord<String, String>> poll(ShareConsumer<String, String> member) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (found.isEmpty()) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException("no record came");
            }
            member.poll(STEP).forEach(found::add);
        }
        return found;
    }

    private static String shown(List<ConsumerRecord<String, String>> records) {
        return records.stream()
                .map(record -> record.value() + "x" + record.deliveryCount().orElseThrow())
                .collect(Collectors.joining(" "));
    }

    private static String committed(ShareConsumer<String, String> member) {
        return outcome(member.commitSync());
    }

    private static String outcome(Map<TopicIdPartition, Optional<KafkaException>> outcomes) {
        return outcomes.values().stream()
                .map(error -> error.map(found -> found.getClass().getSimpleName()).orElse("done"))
                .collect(Collectors.joining(" "));
    }

    /** The next poll accepts, and so does the end. */
    private static void implicit() {
        produce(0, 2);
        try (var member = member("implicit")) {
            System.out.println("polled " + shown(poll(member)));
            produce(3, 3);
            System.out.println("polled " + shown(poll(member)));
            System.out.println("committed: " + committed(member));
        }
        produce(4, 4);
        try (var member = member("implicit")) {
            System.out.println("another polled " + shown(poll(member)));
        }
    }

    private static void explicit() {
        produce(0, 3);
        try (var member = member("explicit")) {
            var records = poll(member);
            System.out.println("polled " + shown(records));
            member.acknowledge(records.get(0), AcknowledgeType.ACCEPT);
            member.acknowledge(records.get(1), AcknowledgeType.RELEASE);
            member.acknowledge(records.get(2), AcknowledgeType.REJECT);
            try {
                member.poll(STEP);
                System.out.println("polled although a record was not acknowledged");
            } catch (IllegalStateException error) {
                System.out.println("a record is not acknowledged");
            }
            member.acknowledge(records.get(3), AcknowledgeType.RELEASE);
            System.out.println("committed: " + committed(member));
            records = poll(member);
            System.out.println("polled " + shown(records));
            records.forEach(member::acknowledge);
            System.out.println("committed: " + committed(member));
            System.out.println("left: " + shown(rest(member)));
        }
    }

    private static List<ConsumerRecord<String, String>> rest(ShareConsumer<String, String> member) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        member.poll(Duration.ofSeconds(2)).forEach(found::add);
        return found;
    }

    /** Acknowledgements that go with the next fetch, and their outcome. */
    private static void callback() {
        produce(0, 1);
        try (var member = member("explicit")) {
            List<String> told = new ArrayList<>();
            member.setAcknowledgementCommitCallback((offsets, error) -> {
                String outcome = error == null ? "done" : error.getClass().getSimpleName();
                offsets.values().forEach(set -> told.add(new TreeSet<>(set) + " " + outcome));
            });
            var records = poll(member);
            records.forEach(member::acknowledge);
            member.commitAsync();
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (told.isEmpty() && System.currentTimeMillis() < end) {
                member.poll(STEP);
            }
            System.out.println("told " + told);
        }
    }

    /** A record stays with its member for longer than its lock, while another one asks for it. */
    private static void renew() throws Exception {
        produce(0, 0);
        AtomicBoolean ends = new AtomicBoolean();
        List<String> others = Collections.synchronizedList(new ArrayList<>());
        try (var member = member("explicit")) {
            var records = poll(member);
            int lockMs = member.acquisitionLockTimeoutMs().orElseThrow();
            System.out.println("locked for " + lockMs + " ms");
            Thread waiting = new Thread(() -> {
                try (var other = member("implicit")) {
                    while (!ends.get()) {
                        other.poll(STEP).forEach(record -> others.add(record.value()));
                    }
                }
            });
            waiting.start();
            for (int round = 0; round < 4; round++) {
                Thread.sleep(lockMs / 2);
                records.forEach(record -> member.acknowledge(record, AcknowledgeType.RENEW));
                System.out.println("renewed: " + committed(member));
                records = poll(member);
            }
            System.out.println("polled again " + shown(records));
            records.forEach(member::acknowledge);
            System.out.println("committed: " + committed(member));
            ends.set(true);
            waiting.join();
        }
        System.out.println("others got " + others);
    }

    /** What one poll brings of a batch of 100, if 10 are asked for. */
    private static void acquire(String mode) {
        produce(0, 99);
        try (var member = member("explicit", "share.acquire.mode", mode, "max.poll.records", "10")) {
            var records = poll(member);
            System.out.println("polled " + records.size());
            records.forEach(member::acknowledge);
            System.out.println("committed: " + committed(member));
        }
    }

    /** The lock runs out while a member works; another one gets the records, and the first one is too late. */
    private static void expire() throws Exception {
        produce(0, 1);
        try (var slow = member("explicit"); var other = member("explicit")) {
            var records = poll(slow);
            System.out.println("polled " + shown(records));
            var again = poll(other);
            System.out.println("another polled " + shown(again));
            records.forEach(slow::acknowledge);
            System.out.println("committed late: " + committed(slow));
            again.forEach(other::acknowledge);
            System.out.println("another committed: " + committed(other));
        }
    }

    /** All that comes is released; the portions become smaller, down to one record on its last try. */
    private static void poison() {
        produce(0, 7);
        try (var member = member("explicit", "max.poll.records", "8")) {
            int count = 0;
            while (count < 8 * 5) {
                var records = poll(member);
                System.out.println(shown(records));
                records.forEach(record -> member.acknowledge(record, AcknowledgeType.RELEASE));
                member.commitSync();
                count += records.size();
            }
            System.out.println("left: " + shown(rest(member)));
        }
    }
}
