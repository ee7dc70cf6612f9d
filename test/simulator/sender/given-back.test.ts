import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { senderTo } from "./harness.ts";

test("an attempt that has ended no longer listens to the signal that ends all of them", async () => {
  const endpoint = await startEndpoint();
  const { signal } = new AbortController();
  const send = senderTo(endpoint.url, { signal });
  const sent = [send(), send(), send()];
  expect(getEventListeners(signal, "abort")).toHaveLength(3);
  await Promise.all(sent);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
