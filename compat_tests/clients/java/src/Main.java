import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;

/** The program of Apache Kafka's own Java clients. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Contract.serve(
                Map.ofEntries(
                        Map.entry("version", Main::version),
                        Map.entry("create_topic", Administration::createTopic),
                        Map.entry("delete_topic", Administration::deleteTopic),
                        Map.entry("describe_config", Administration::describeConfig),
                        Map.entry("alter_config", Administration::alterConfig),
                        Map.entry("delete_records", Administration::deleteRecords),
                        Map.entry("list_offsets", Administration::listOffsets),
                        Map.entry("produce", Production::produce),
                        Map.entry("produce_numbers", Production::produceNumbers),
                        Map.entry("consume", Consumption::consume),
                        Map.entry("consume_from_timestamp", Consumption::consumeFromTimestamp),
                        Map.entry("consume_group", Consumption::consumeGroup),
                        Map.entry("transact", Transactions::transact),
                        Map.entry("fence", Transactions::fence),
                        Map.entry("outlive", Transactions::outlive),
                        Map.entry("copy", Transactions::copy)));
    }

    private static JsonObject version(JsonObject request) throws IOException {
        var properties = new Properties();
        try (var file = Main.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(file);
        }
        var answer = new JsonObject();
        answer.addProperty("version", properties.getProperty("version"));
        return answer;
    }
}
