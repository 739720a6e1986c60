import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Members of a share group that acknowledge each record, in one process with the producer of the records.
 *
 * <p>Arguments: bootstrap servers, load, topic (which names the group, too), members, bytes of a record, and
 * <ul>
 * <li>drain WARM COUNT: records that are there before the first member; those that warm up are not counted
 * <li>paced RATE WARM_SECONDS SECONDS: records at a rate, with the moment of sending in each
 * </ul>
 *
 * "began" is printed when the warm-up is over, and at the end "done" with the figures.
 */
public final class ShareLoad {
    private static final int LATENCIES_MAX = 2_000_000;

    private static String bootstrap;
    private static String topic;
    private static int members;
    private static int bytes;

    private static final AtomicLong delivered = new AtomicLong();
    private static final AtomicLong acknowledged = new AtomicLong();
    private static final AtomicReference<Exception> failure = new AtomicReference<>();
    private static final AtomicInteger measured = new AtomicInteger();
    private static final long[] latencies = new long[LATENCIES_MAX];
    private static volatile boolean measuring;

    public static void main(String[] words) throws Exception {
        bootstrap = words[0];
        topic = words[2];
        members = Integer.parseInt(words[3]);
        bytes = Integer.parseInt(words[4]);
        switch (words[1]) {
            case "drain" -> drain(Long.parseLong(words[5]), Long.parseLong(words[6]));
            case "paced" -> paced(
                    Integer.parseInt(words[5]), Integer.parseInt(words[6]), Integer.parseInt(words[7]));
            default -> throw new IllegalArgumentException(words[1]);
        }
        System.exit(0);
    }

    private static KafkaProducer<byte[], byte[]> producer(int lingerMs) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("linger.ms", lingerMs);
        return new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static void fill(long count) {
        byte[] value = new byte[bytes];
        new Random(1).nextBytes(value);
        int partitions;
        try (var producer = producer(20)) {
            partitions = producer.partitionsFor(topic).size();
            for (long number = 0; number < count; number++) {
                int partition = (int) (number % partitions);
                producer.send(new ProducerRecord<>(topic, partition, null, value), (found, error) -> {
                    if (error != null) {
                        failure.compareAndSet(null, error);
                    }
                });
            }
            producer.flush();
        }
        check();
    }

    private static void check() {
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
    }

    private static void start() {
        for (int number = 0; number < members; number++) {
            new Thread(ShareLoad::work).start();
        }
    }

    private static KafkaShareConsumer<byte[], byte[]> member() {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("group.id", topic);
        configs.put("share.acknowledgement.mode", "explicit");
        var member =
                new KafkaShareConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        member.subscribe(List.of(topic));
        return member;
    }

    /** Poll and acknowledge each record; the acknowledgements go with the next fetch. */
    private static void work() {
        try (var member = member()) {
            member.setAcknowledgementCommitCallback(ShareLoad::confirmed);
            while (true) {
                var records = member.poll(Duration.ofMillis(200));
                long now = System.nanoTime();
                boolean measures = measuring;
                for (var record : records) {
                    if (measures) {
                        note(now - ByteBuffer.wrap(record.value()).getLong());
                    }
                    member.acknowledge(record);
                }
                delivered.addAndGet(records.count());
            }
        } catch (Exception error) {
            failure.compareAndSet(null, error);
        }
    }

    private static void confirmed(Map<TopicIdPartition, Set<Long>> offsets, Exception error) {
        if (error != null) {
            failure.compareAndSet(null, error);
        }
        offsets.values().forEach(found -> acknowledged.addAndGet(found.size()));
    }

    private static void note(long nanoseconds) {
        int place = measured.getAndIncrement();
        if (place < LATENCIES_MAX) {
            latencies[place] = nanoseconds;
        }
    }

    private static void drain(long warm, long count) throws Exception {
        fill(warm + count);
        start();
        await(warm);
        long first = acknowledged.get();
        long began = System.nanoTime();
        System.out.println("began");
        await(warm + count);
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.printf(
                Locale.ROOT, "done %.6f %d %d%n", seconds, acknowledged.get() - first, delivered.get());
    }

    private static void await(long count) throws InterruptedException {
        while (acknowledged.get() < count) {
            check();
            Thread.sleep(1);
        }
    }

    private static void paced(int rate, int warmSeconds, int seconds) throws Exception {
        fill(members);
        start();
        await(members);
        try (var producer = producer(0)) {
            int partitions = producer.partitionsFor(topic).size();
            long began = System.nanoTime();
            long total = (long) rate * (warmSeconds + seconds);
            long warm = (long) rate * warmSeconds;
            for (long number = 0; number < total; number++) {
                if (number == warm) {
                    await(members + warm - rate / 10);
                    measuring = true;
                    System.out.println("began");
                }
                long due = began + number * 1_000_000_000L / rate;
                for (long left; (left = due - System.nanoTime()) > 0; ) {
                    LockSupport.parkNanos(left);
                }
                byte[] value = new byte[bytes];
                ByteBuffer.wrap(value).putLong(System.nanoTime());
                producer.send(new ProducerRecord<>(topic, (int) (number % partitions), null, value));
            }
            producer.flush();
            await(members + total);
        }
        int count = Math.min(measured.get(), LATENCIES_MAX);
        long[] sorted = Arrays.copyOf(latencies, count);
        Arrays.sort(sorted);
        System.out.printf(
                Locale.ROOT, "done %d %.3f %.3f %.3f%n", count,
                sorted[count / 2] / 1e6, sorted[count * 99 / 100] / 1e6, sorted[count - 1] / 1e6);
    }
}
