import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { loadResultSchema, type LoadOrder, type LoadResult } from "./load-messages.ts";

/** Sends `events` signed, unique events over `connections` and returns the results. Signing is not measured. */
export async function load(order: LoadOrder): Promise<LoadResult> {
  const client = fork(join(import.meta.dirname, "load-process.ts"));
  client.send(order);
  await once(client, "message");
  client.send("go");
  const [result] = await once(client, "message");
  await once(client, "exit");
  return loadResultSchema.parse(result);
}
