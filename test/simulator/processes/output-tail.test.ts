import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { createOutputTail } from "../../../simulator/processes/output-tail.ts";

/** The lines that are kept of a program. */
async function tailOf(program: string): Promise<string[]> {
  const child = spawn(process.execPath, ["-e", program]);
  const tail = createOutputTail();
  tail.follow(child);
  await once(child, "close");
  return tail.lines();
}

test("the last 200 lines of a process are kept, up to 2,000 characters each", async () => {
  const long = "x".repeat(2_000);
  const lines = await tailOf(`
    for (let line = 1; line <= 201; line++) console.log(line);
    console.log("${long}");
    console.log("${long}y");
    process.stdout.write("the end");
  `);
  expect(lines).toHaveLength(200);
  expect([lines[0], lines[196]]).toEqual(["5", "201"]);
  expect(lines.slice(-3)).toEqual([long, `${long}…`, "the end"]);
});
