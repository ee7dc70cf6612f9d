import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";

/** How many connections unknown programs can open at the simulator; test/shared/server.test.ts tests its server. */

test("of pipelined requests the first eight are answered, and the last answer closes the connection", async () => {
  await using simulator = await startSimulator();
  const socket = connect(Number(new URL(simulator.url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".repeat(30));
  const answers = (await text(socket)).split("HTTP/1.1 421").slice(1);
  expect(answers.map((answer) => answer.includes("Connection: close"))).toEqual([
    ...Array<boolean>(7).fill(false),
    true,
  ]);
});
