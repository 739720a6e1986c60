import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The operations of the admin client. */
final class Administration {
    private Administration() {}

    private static Admin admin(JsonObject request) {
        return Admin.create(Contract.secured(
                request, Map.of("bootstrap.servers", request.get("bootstrap").getAsString())));
    }

    private static ConfigResource resource(JsonObject request) {
        return new ConfigResource(ConfigResource.Type.TOPIC, Contract.string(request, "topic"));
    }

    private static TopicPartition partition(JsonObject request) {
        return new TopicPartition(Contract.string(request, "topic"), request.get("partition").getAsInt());
    }

    static JsonObject createTopic(JsonObject request) throws Exception {
        var configs = new HashMap<String, String>();
        request.getAsJsonObject("configs").asMap().forEach((name, value) -> configs.put(name, value.getAsString()));
        var topic = new NewTopic(
                Contract.string(request, "topic"), request.get("partitions").getAsInt(), (short) 1);
        try (var admin = admin(request)) {
            admin.createTopics(List.of(topic.configs(configs))).all().get();
        }
        return new JsonObject();
    }

    static JsonObject deleteTopic(JsonObject request) throws Exception {
        try (var admin = admin(request)) {
            admin.deleteTopics(List.of(Contract.string(request, "topic"))).all().get();
        }
        return new JsonObject();
    }

    static JsonObject describeConfig(JsonObject request) throws Exception {
        var answer = new JsonObject();
        try (var admin = admin(request)) {
            var configs = admin.describeConfigs(List.of(resource(request))).all().get().get(resource(request));
            answer.addProperty("value", configs.get(Contract.string(request, "name")).value());
        }
        return answer;
    }

    static JsonObject alterConfig(JsonObject request) throws Exception {
        var entry = new ConfigEntry(Contract.string(request, "name"), Contract.string(request, "value"));
        var change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        try (var admin = admin(request)) {
            admin.incrementalAlterConfigs(Map.of(resource(request), List.of(change))).all().get();
        }
        return new JsonObject();
    }

    static JsonObject deleteRecords(JsonObject request) throws Exception {
        var before = RecordsToDelete.beforeOffset(request.get("before").getAsLong());
        try (var admin = admin(request)) {
            admin.deleteRecords(Map.of(partition(request), before)).all().get();
        }
        return new JsonObject();
    }

    static JsonObject listOffsets(JsonObject request) throws Exception {
        var answer = new JsonObject();
        var there = partition(request);
        try (var admin = admin(request)) {
            var earliest = admin.listOffsets(Map.of(there, OffsetSpec.earliest())).all().get();
            var latest = admin.listOffsets(Map.of(there, OffsetSpec.latest())).all().get();
            answer.addProperty("earliest", earliest.get(there).offset());
            answer.addProperty("latest", latest.get(there).offset());
        }
        return answer;
    }
}
