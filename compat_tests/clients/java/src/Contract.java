import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The programs' side of the contract in ../../README.md. */
final class Contract {
    /** 10 numbers every 10 ms: about 1,000 a second. */
    static final int NUMBERS_AT_A_TIME = 10;

    static final int PAUSE_MS = 10;
    static final int UNANSWERED_MAX = 200;
    static final int PATIENCE_MS = 60_000;

    private static final int PROGRESS_EVERY = 100;
    private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private Contract() {}

    /** Does what a request asks for and returns the fields of the answer. */
    interface Operation {
        JsonObject run(JsonObject request) throws Exception;
    }

    /** Reports progress in steps. */
    static final class Progress {
        private int told;

        void tell(int count) {
            if (count / PROGRESS_EVERY > told / PROGRESS_EVERY) {
                told = count;
                say("progress", new JsonPrimitive(count));
            }
        }
    }

    /** Answers requests until standard input ends. */
    static void serve(Map<String, Operation> operations) throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            var request = JsonParser.parseString(line).getAsJsonObject();
            try {
                var answer = operations.get(request.get("operation").getAsString()).run(request);
                say("ok", answer);
            } catch (Exception error) {
                var trace = new StringWriter();
                error.printStackTrace(new PrintWriter(trace));
                say("error", new JsonPrimitive(trace.toString()));
            }
        }
    }

    private static synchronized void say(String key, JsonElement value) {
        var line = new JsonObject();
        line.add(key, value);
        OUT.println(GSON.toJson(line));
    }

    static byte[] bytes(JsonElement text) {
        return text.isJsonNull() ? null : text.getAsString().getBytes(StandardCharsets.UTF_8);
    }

    static JsonElement text(byte[] data) {
        return data == null ? JsonNull.INSTANCE : new JsonPrimitive(new String(data, StandardCharsets.UTF_8));
    }

    /** Returns settings of a client with those of the request's field `security`. */
    static Map<String, Object> secured(JsonObject request, Map<String, Object> settings) {
        var all = new HashMap<String, Object>(settings);
        if (!request.has("security")) {
            return all;
        }
        var security = request.getAsJsonObject("security");
        all.put("security.protocol", string(security, "protocol"));
        if (security.has("authority")) {
            all.putAll(Map.of("ssl.truststore.type", "PEM", "ssl.truststore.location", string(security, "authority")));
        }
        if (security.has("certificate")) {
            all.putAll(Map.of("ssl.keystore.type", "PEM", "ssl.keystore.location", string(security, "certificate")));
        }
        if (security.has("bearer")) {
            // Java takes a token from a file, and only from one that a property of the process allows.
            var file = string(security, "bearer_file");
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", file);
            all.put("sasl.mechanism", "OAUTHBEARER");
            all.put("sasl.oauthbearer.token.endpoint.url", file);
            all.put("sasl.login.callback.handler.class",
                    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler");
            all.put("sasl.jaas.config", "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;");
        } else if (security.has("mechanism")) {
            var mechanism = string(security, "mechanism");
            var kind = mechanism.equals("PLAIN") ? "plain.Plain" : "scram.Scram";
            var token = security.has("token") ? " tokenauth=\"true\"" : "";
            all.put("sasl.mechanism", mechanism);
            all.put("sasl.jaas.config", "org.apache.kafka.common.security." + kind + "LoginModule required username="
                    + GSON.toJson(string(security, "user")) + " password=" + GSON.toJson(string(security, "password"))
                    + token + ";");
        }
        return all;
    }

    static String string(JsonObject request, String field) {
        return request.get(field).getAsString();
    }
}
