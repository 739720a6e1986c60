import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Apache Kafka's tools one after the other in one process: starting Java for each takes a
 * second or more, and there are dozens.
 *
 * <p>A request is a line of Base64 fields: class, standard input, arguments. The answer is a line too: exit code, standard
 * output, standard error.
 */
public final class ToolHost {
    /** Thrown where a tool ends the process. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;

        Ended() {
            super(null, null, false, false);
        }
    }

    private static final List<Runnable> atItsEnd = new CopyOnWriteArrayList<>();
    private static Integer exitCode;

    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        // Logging takes the standard output that it finds when it starts.
        System.setOut(System.err);
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> atItsEnd.add(hook));
        PrintStream out = System.out;
        PrintStream err = System.err;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String[] fields = Arrays.stream(line.split(" ", -1)).map(ToolHost::decoded).toArray(String[]::new);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            ByteArrayOutputStream complained = new ByteArrayOutputStream();
            System.setIn(new ByteArrayInputStream(fields[1].getBytes("UTF-8")));
            System.setOut(new PrintStream(printed, true, "UTF-8"));
            System.setErr(new PrintStream(complained, true, "UTF-8"));
            int code = run(fields[0], Arrays.copyOfRange(fields, 2, fields.length));
            runHooks();
            System.out.flush();
            System.err.flush();
            System.setOut(out);
            System.setErr(err);
            answers.println(code + " " + encoded(printed) + " " + encoded(complained));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Run what a tool wants done when its process ends: most tell Kafka's Exit, the verifiable ones Java. */
    private static void runHooks() throws Exception {
        atItsEnd.forEach(Runnable::run);
        atItsEnd.clear();
        Field hooks = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
        hooks.setAccessible(true);
        for (Object key : new ArrayList<>(((Map<?, ?>) hooks.get(null)).keySet())) {
            Thread hook = (Thread) key;
            if (hook.getName().startsWith("verifiable-")) {
                Runtime.getRuntime().removeShutdownHook(hook);
                hook.run();
            }
        }
    }

    private static synchronized void end(int code) {
        // A tool that catches everything may end twice: the first code is its own.
        if (exitCode == null) {
            exitCode = code;
        }
        throw new Ended();
    }

    private static int run(String name, String[] arguments) {
        exitCode = null;
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failure) {
            if (exitCode == null) {
                failure.getCause().printStackTrace();
                return 1;
            }
        } catch (ReflectiveOperationException failure) {
            failure.printStackTrace();
            return 1;
        }
        return exitCode == null ? 0 : exitCode;
    }

    private static String decoded(String field) {
        return new String(Base64.getDecoder().decode(field), java.nio.charset.StandardCharsets.UTF_8);
    }

    private static String encoded(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
