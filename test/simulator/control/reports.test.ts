import { expect, onTestFinished, test } from "vitest";
import { startService } from "../../helpers/service.ts";
import { SECRET, startMutant } from "../../mutants/receiver.ts";

/** The content of the last report in this format, and how it is saved. */
async function saved(url: string, format: string) {
  const response = await fetch(`${url}/control/reports/verify/${format}`);
  const { headers } = response;
  const name = /filename="?([^";]*)/.exec(headers.get("content-disposition") ?? "")?.[1];
  return { status: response.status, name, type: headers.get("content-type"), text: await response.text() };
}

test("of reports that were sent and runs of its own the last counts, in each format that it has", async () => {
  const { url, ask } = await startService({ calls: 0 });
  expect(await saved(url, "json")).toMatchObject({ status: 404 });
  await ask("POST", "/reports/verify", { verdict: "sent first" });
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const { body: endpoint } = await ask("POST", "/endpoints", { url: receiver.url, secret: SECRET });
  await ask("POST", `/endpoints/${String(endpoint["id"])}/verify`, {
    only: ["acknowledgement.call-completed"],
  });
  const ended = await until(async () => (await ask("GET", "/verification")).body["verification"]);
  expect(ended).toMatchObject({ state: "ended", verdict: "passed" });

  const { body: own } = await ask("GET", "/reports/verify");
  expect(own).toMatchObject({
    formats: ["pretty", "json", "junit", "markdown", "github"],
    report: null,
  });
  const files = await Promise.all(
    ["pretty", "json", "junit", "markdown", "github"].map(async (format) => saved(url, format)),
  );
  expect(files.map(({ status, name, type }) => [status, name, type])).toEqual([
    [200, "verify.txt", "text/plain; charset=utf-8"],
    [200, "verify.json", "application/json; charset=utf-8"],
    [200, "verify.xml", "application/xml; charset=utf-8"],
    [200, "verify.md", "text/markdown; charset=utf-8"],
    [200, "verify-annotations.txt", "text/plain; charset=utf-8"],
  ]);
  expect(JSON.parse(files[1]?.text ?? "")).toMatchObject({ verdict: "passed" });
  const none = await saved(url, "html");
  expect(none.status).toBe(404);
  expect(none.text).toContain("there is: pretty, json, junit, markdown, github");

  await ask("POST", "/reports/verify", { verdict: "sent last" });
  expect((await ask("GET", "/reports/verify")).body).toMatchObject({
    formats: ["json"],
    report: { verdict: "sent last" },
  });
  expect(await saved(url, "junit")).toMatchObject({ status: 404 });
});

async function until(look: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    const seen = await look();
    if (typeof seen === "object" && seen !== null && "state" in seen && seen.state === "ended") return seen;
  }
}
