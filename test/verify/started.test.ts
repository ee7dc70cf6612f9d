import { expect, test } from "vitest";
import { invocationOf, verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { freePort } from "../helpers/free-port.ts";

/** What a command gets that verify starts, and what a report has of its output. */
async function started(url: string, lines: readonly string[]): Promise<string[]> {
  const command = ["sh", "-c", `${lines.map((line) => `echo "${line}"`).join("; ")}; exit 1`];
  const given = { secret: "whsec_started", seed: "1", checks: [], command, failOn: [], now: Date.now };
  const observeUrl = "http://127.0.0.1:1/counts/{id}";
  const report = await verifyReceiver({ ...given, url, observeUrl, readyTimeoutMs: 5_000 });
  expect(report.verdict).toBe("could_not_run");
  return report.receiverOutput;
}

test("a receiver's last lines keep its errors, and leave out the requests of the run", async () => {
  const kept = ["POST /hook 500 Error: no table", "GET /other 200", "hook: stored", "panic at PUT /hook"];
  const left = ["POST /hook 200", "GET /counts/evt_1 200", "HEAD /hook 405", "DELETE /hook 405"];
  const url = `http://127.0.0.1:${await freePort()}/hook`;
  expect(await started(url, [...left, ...kept])).toEqual(kept);
});

test.each([
  ["http://127.0.0.1:PORT/hook", "PORT"],
  ["http://127.0.0.1/hook", "80"],
  ["https://127.0.0.1/hook", "443"],
])("a receiver at %s is told the port %s, its secret, and where the API will be", async (url, port) => {
  const free = String(await freePort());
  const words = "is $PORT, $SIGNING_SECRET, $API_KEY, $API_BASE_URL";
  expect(await started(url.replace("PORT", free), [words])).toEqual([
    `is ${port.replace("PORT", free)}, [redacted], va_test_restaurant, http://127.0.0.1:4010`,
  ]);
});

test("a run is repeated as thoroughly, and with the times that it had", () => {
  const { start } = invocationOf({ url: "http://localhost:1/", thorough: true, effectsWithinMs: 90_000 });
  expect(start).toMatch(/ --thorough --effects-within 90$/);
});
