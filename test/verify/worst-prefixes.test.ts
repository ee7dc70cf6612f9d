import { expect, test } from "vitest";
import { causeOfError } from "../../receiver/store/job-rules.ts";
import { printable } from "../../shared/text.ts";
import { createRedactor, withoutUserInfo } from "../../simulator/text/redact.ts";
import { idIn } from "../../simulator/verify/delivery.ts";

const redact = createRedactor(["whsec_of_the_receiver"]);
const READERS: [string, (foreign: string) => unknown][] = [
  ["redact.text", (foreign) => redact.text(foreign)],
  ["redact.bytes", (foreign) => redact.bytes(Buffer.from(foreign))],
  ["withoutUserInfo", withoutUserInfo],
  ["printable", printable],
  ["causeOfError", causeOfError],
  ["idIn", (foreign) => idIn(Buffer.from(foreign))],
];
const PREFIXES = "a|a.|a:|a://|a://b|@|1.|[:|a@b.|evt_0|whsec_of_the_receive|\\u001b[| \n".split("|");

test.each(READERS)("%s reads a mebibyte that it matches only partly in linear time", (_, read) => {
  for (const prefix of PREFIXES) {
    const foreign = prefix.repeat(Math.ceil((1024 * 1024) / prefix.length));
    const startedAt = performance.now();
    read(foreign);
    expect(performance.now() - startedAt, JSON.stringify(prefix)).toBeLessThan(10_000);
  }
});
