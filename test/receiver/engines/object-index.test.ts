import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createObjectIndex } from "../../../receiver/engines/sqlite/object-index.ts";
import { newEvent } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("an event that another process stores while the index is extended is in it after the next time", () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const [ours, others] = [
    openInboxFile({ file, busyTimeoutMs: 0 }),
    openInboxFile({ file, busyTimeoutMs: 0 }),
  ];
  onTestFinished(() => {
    ours.close();
    others.close();
  });
  const accept = createAccept(others);
  const index = createObjectIndex(ours);
  index.extend();
  ours.function("intrude", () => {
    accept([newEvent({ type: "call.completed", objectId: "call_2" })], 1);
    return null;
  });
  ours.exec("CREATE TEMP TRIGGER intruder AFTER INSERT ON objects BEGIN SELECT intrude(); END");
  accept([newEvent({ type: "call.completed", objectId: "call_1" })], 1);
  index.extend();
  ours.exec("DROP TRIGGER intruder");
  index.extend();
  expect(index.find("call.completed", "call_1")).toBe(1);
  expect(index.find("call.completed", "call_2")).toBe(2);
});
