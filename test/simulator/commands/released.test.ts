import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { run as startProgram } from "../../helpers/process.ts";
import { openSimulator, temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";

/** Commands of the simulator release all resources, however they end. */

test.each([
  ["when it is refused", "400d", 2],
  ["when it has", "1m", 0],
])("a command that moves the clock ends %s", async (_, duration, code) => {
  const { simulator } = await startService({ clock: "manual" });
  const command = ["clock", "advance", duration, "--simulator", simulator.url];
  expect(await startProgram("simulator/main.ts", command).exited).toEqual({ code, signal: null });
});

test("load ends when it has measured", async () => {
  const { url } = await startEndpoint();
  const command = ["load", url, "--secret", "whsec_test", "--duration", "1s"];
  expect(await startProgram("simulator/main.ts", command).exited).toEqual({ code: 0, signal: null });
});

const FOREIGN = "http://example.com/";

test.each<[string, (data: string[], port: number) => Promise<unknown>]>([
  [
    "the library, at a port that is taken",
    ([, dataFile = ""], port) =>
      startSimulator({ port, dataFile, calls: 0 }).catch((error: unknown) => error),
  ],
  ["serve, at a port that is taken", (data, port) => run("serve", "--port", String(port), ...data)],
  ["serve, for another machine", (data) => run("serve", "--port", "0", ...data, "--forward-to", FOREIGN)],
  ["dev, for another machine", (data) => run("dev", "--port", "0", ...data, "--url", FOREIGN, "--", "true")],
  [
    "dev, with a command that is not there",
    (data) => run("dev", "--port", "0", ...data, "--", "no-such-program"),
  ],
])("a failed start releases its data file for the next one: %s", async (_, start) => {
  const { port } = await listen(createServer());
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const failed = await start(["--data", dataFile], port);
  expect(failed).toEqual(
    expect.toSatisfy((end: Error | { code: number }) => end instanceof Error || end.code > 1),
  );
  expect(() => openSimulator({ dataFile, seed: undefined })).not.toThrow();
});
