import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { runLoad } from "../../../simulator/load/run.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startRawServer } from "../../helpers/raw-server.ts";

const BRIEFLY = { secret: "whsec_test", durationMs: 150, connections: 1, duplicates: 0 };
const { signal } = new AbortController();

test("the requested share of duplicates is sent, spread evenly", async () => {
  const { url } = await startEndpoint(200);
  const { sent, duplicates } = await runLoad({ ...BRIEFLY, url, duplicates: 0.5 }, { signal });
  expect(duplicates).toBe(Math.floor(sent / 2));
});

test("with a rate, waiting for a receiver that stalls counts from the moment at which a request was due", async () => {
  const { url } = await startEndpoint((response) => void setTimeout(() => response.writeHead(200).end(), 60));
  const { sent, latencies } = await runLoad({ ...BRIEFLY, url, rate: 100 }, { signal });
  expect(sent).toBe(15);
  // The last was due 140 ms after the first, and was sent after fourteen answers.
  expect(latencies.quantileMs(1)).toBeGreaterThan(14 * 60 - 140);
});

const TAKEN = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

test.each<[string, (socket: Socket) => unknown]>([
  ["reset", (socket) => socket.resetAndDestroy()],
  ["closed", (socket) => socket.end()],
  ["closed", (socket) => socket.end("HTTP/1.1 200 O")],
  ["protocol", (socket) => socket.write("220 mail.example ESMTP\r\n")],
  ["protocol", (socket) => socket.write("HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n")],
  ["302", (socket) => socket.write("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")],
  ["503", (socket) => socket.end("HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n")],
])(
  "a request counts by its own end, not by that of an earlier one on the connection: %s",
  async (word, end) => {
    const requests: number[] = [];
    const { url } = await startRawServer(
      (socket, connection) => {
        socket.on("data", (bytes) => {
          for (let count = bytes.toString("latin1").split("POST / ").length - 1; count > 0; count -= 1) {
            requests.push(connection);
            if (requests.length === 2) end(socket);
            else socket.write(TAKEN);
          }
        });
      },
      { onConnect: true },
    );
    // Three requests, 30 ms apart.
    const plan = { ...BRIEFLY, url, durationMs: 100, rate: 30 };
    const { sent, acknowledged, failures, latencies } = await runLoad(plan, { signal });
    const measured = latencies.count();
    expect({ sent, acknowledged, failures, measured }).toEqual({
      sent: 3,
      acknowledged: 2,
      failures: { [word]: 1 },
      measured: 2,
    });
    expect(requests.slice(0, 2)).toEqual([1, 1]);
  },
);
