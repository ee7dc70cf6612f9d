import { expect, test } from "vitest";
import { newBody } from "./helpers/events.ts";
import { open, rawRequest, readAnswer } from "./helpers/raw.ts";
import { startTestReceiver } from "./helpers/receiver.ts";

test("a request that takes too long over its headers is ended after 5 s, over its body after 10 s", async () => {
  const { url } = await startTestReceiver();
  const slowHeaders = open(url);
  slowHeaders.write("POST /webhooks HTTP/1.1\r\nHost: x\r\n");
  const stalledBody = open(url);
  stalledBody.write(rawRequest(url, { body: newBody() }).subarray(0, -5));
  const answers = await Promise.all([readAnswer(slowHeaders), readAnswer(stalledBody)]);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 408, json: { error: "request_timeout" } });
  }
});
