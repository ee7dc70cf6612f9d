// A receiver on Java's own com.sun.net.httpserver (Java 17 or newer), with nothing to fetch. Start it: java Receiver.java
// In Spring, take the body as byte[] (@RequestBody byte[] body) and leave the route out of CSRF checks; the rest is the same.

import com.sun.net.httpserver.*;
import java.io.*;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.Executors;
import java.util.regex.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

public class Receiver {
    static final byte[] SECRET = System.getenv("SIGNING_SECRET").getBytes(UTF_8);
    static final int MOST_BYTES = 1 << 20;
    static final Pattern ID = Pattern.compile("\"id\"\\s*:\\s*\"(evt_[0-9a-fA-F]{32})\"");
    static final Map<String, Integer> STORED = new HashMap<>(); // By id: lines in the file.
    static FileChannel file;

    public static void main(String[] words) throws Exception {
        Path path = Path.of(System.getenv().getOrDefault("DATABASE", "events.jsonl"));
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        for (String line : Files.readString(path).split("\n")) STORED.merge(idOf(line), 1, Integer::sum);
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "3000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 128);
        server.createContext("/webhooks", Receiver::receive);
        server.createContext("/handled/", Receiver::handled); // For verify --observe; leave it out where strangers can reach it.
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.start();
    }

    static void receive(HttpExchange exchange) throws IOException {
        // The trap: the signature covers the received bytes. A JSON mapper would write other bytes.
        byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES);
        String text = new String(body, UTF_8);
        if (!isSigned(exchange.getRequestHeaders().getFirst("X-Service-Signature"), body)) answer(exchange, 401, "{}");
        else if (idOf(text).isEmpty()) answer(exchange, 400, "{}");
        else {
            store(idOf(text), text);
            answer(exchange, 200, "{\"received\":true}");
        }
    }

    /** Puts an event on disk before it is acknowledged. A duplicate changes nothing, and is answered like the first. */
    static synchronized void store(String id, String text) throws IOException {
        if (STORED.containsKey(id)) return;
        file.write(ByteBuffer.wrap(("\n" + text.replace('\n', ' ').replace('\r', ' ')).getBytes(UTF_8)));
        file.force(false); // On disk: an event answered with 200 survives a crash.
        STORED.put(id, 1);
    }

    static synchronized void handled(HttpExchange exchange) throws IOException {
        String id = exchange.getRequestURI().getPath().substring("/handled/".length());
        answer(exchange, 200, "{\"handled\":" + STORED.getOrDefault(id, 0) + "}");
    }

    /** t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old */
    static boolean isSigned(String header, byte[] body) {
        Matcher parts = Pattern.compile("t=([0-9]{1,15}),(?:.*,)?v1=([0-9a-f]{64})(?:,.*)?").matcher(header == null ? "" : header);
        if (!parts.matches() || header.split("(^|,)t=", -1).length != 2) return false;
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(parts.group(1))) > 300) return false;
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(SECRET, "HmacSHA256"));
            mac.update((parts.group(1) + ".").getBytes(UTF_8));
            byte[] expected = HexFormat.of().formatHex(mac.doFinal(body)).getBytes(UTF_8);
            return MessageDigest.isEqual(parts.group(2).getBytes(UTF_8), expected);
        } catch (java.security.GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static String idOf(String text) {
        Matcher id = ID.matcher(text);
        return id.find() ? id.group(1) : "";
    }

    static void answer(HttpExchange exchange, int status, String text) throws IOException {
        exchange.sendResponseHeaders(status, text.length());
        exchange.getResponseBody().write(text.getBytes(UTF_8));
        exchange.close();
    }
}
