import { expect, onTestFinished, test } from "vitest";
import { startService } from "../../helpers/service.ts";
import { SECRET, startMutant } from "../../mutants/receiver.ts";

/** The content of the last run's report in this format, and how it is saved. */
async function saved(url: string, format: string) {
  const response = await fetch(`${url}/control/verification/${format}`);
  const { headers } = response;
  const name = /filename="?([^";]*)/.exec(headers.get("content-disposition") ?? "")?.[1];
  return { status: response.status, name, type: headers.get("content-type"), text: await response.text() };
}

test("the report of the last run is served as a file in each format", async () => {
  const { url, ask } = await startService({ calls: 0 });
  expect(await saved(url, "json")).toMatchObject({ status: 404 });
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const { body: endpoint } = await ask("POST", "/endpoints", { url: receiver.url, secret: SECRET });
  await ask("POST", `/endpoints/${String(endpoint["id"])}/verify`, {
    only: ["acknowledgement.call-completed"],
  });
  const state = async () => (await ask("GET", "/verification")).body["verification"];
  await expect.poll(state).toMatchObject({ state: "ended", verdict: "passed" });

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
  expect(none.text).toContain("are pretty, json, junit, markdown, github");
});
