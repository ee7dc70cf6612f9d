import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { freePort } from "../helpers/free-port.ts";
import { ROOT } from "../repository/files.ts";
import { blockUnder } from "./pages.ts";

const PAGE = "docs/testing-in-ci.md";
/** A few checks that show the same as all, in a second. */
const FEW = "--only acknowledgement.call-completed,duplicates.in-sequence,duplicates.hour-between";

/** A receiver that is correct except for its answer to a duplicate, for any Node.js. */
const receiver = (duplicateStatus: number): string => `
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
const seen = new Map();
createServer(async (request, response) => {
  const [, , id = ""] = (request.url ?? "").split("/");
  if (request.method === "GET") return response.end(JSON.stringify({ handled: seen.has(id) ? 1 : 0 }));
  const chunks = await request.toArray().catch(() => []);
  const body = Buffer.concat(chunks);
  const [, t, v1] = /^t=(\\d+),v1=(\\w+)$/.exec(request.headers["x-service-signature"] ?? "") ?? [];
  const digest = createHmac("sha256", process.env.SIGNING_SECRET).update(t + ".").update(body).digest("hex");
  if (digest !== v1 || Math.abs(Date.now() / 1000 - t) > 300) return response.writeHead(401).end();
  const event = JSON.parse(body);
  response.writeHead(seen.has(event.id) ? ${duplicateStatus} : 200).end();
  seen.set(event.id, true);
}).listen(process.env.PORT);
`;

const { version: VERSION } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")));

/** A project folder with a receiver, and with an \`npx\` that runs this checkout. */
async function project(duplicateStatus: number) {
  const folder = mkdtempSync(join(tmpdir(), "ci-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = String(await freePort());
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "server.js"), receiver(duplicateStatus));
  const scripts = {
    "start-receiver": `exec node "$(dirname "$0")/server.js"`,
    // The checkout is installed here already.
    npm: "exit 0",
    npx: `[ "$1 $2 $3 $4" = "--yes --package file:voice-agent-webhook-kit-${VERSION}.tgz voice-agent-simulator" ] || exit 99
shift 5; exec node ${ROOT}simulator/main.ts verify ${FEW} "$@"`,
  };
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/usr/bin/env bash\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }

  return {
    port,
    read: (name: string): string => readFileSync(join(folder, name), "utf8"),
    /** Runs a script as a build server does, on the port of this project. */
    bash: (
      script: string,
      environment: Record<string, string> = {},
    ): Promise<{ status: number | null; out: string }> => {
      const child = spawn("bash", ["-e", "-c", script.replaceAll("localhost:3000", `localhost:${port}`)], {
        cwd: folder,
        env: { PATH: `${folder}:${process.env["PATH"] ?? ""}`, NO_COLOR: "1", ...environment },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let out = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (out += String(data)));
      return new Promise((resolve) => child.once("close", (status) => resolve({ status, out })));
    },
  };
}

describe("the action", () => {
  const [, script = ""] = /\n {6}run: \|\n([^]*)$/.exec(readFileSync(`${ROOT}action.yml`, "utf8")) ?? [];

  test("fails on a receiver that refuses duplicates, writes a summary, and passes without these checks", async () => {
    const { bash, read, port } = await project(409);
    const environment = {
      GITHUB_ACTION_PATH: ROOT.replace(/\/$/, ""),
      RECEIVER_COMMAND: "./start-receiver",
      RECEIVER_URL: `http://localhost:${port}/webhooks`,
      LEVEL: "must",
      ARGUMENTS: FEW,
      ...Object.fromEntries(
        ["RECEIVER_SECRET", "OBSERVE", "FAIL_ON_UNVERIFIED", "PACKAGE"].map((name) => [name, ""]),
      ),
    };
    const act = (more: Record<string, string>) =>
      bash(script.replaceAll(/^ {8}/gm, ""), { ...environment, ...more });
    const first = await act({
      REPORTS: "report",
      GITHUB_OUTPUT: "output",
      GITHUB_STEP_SUMMARY: "summary.md",
    });
    expect(first.status).toBe(1);
    expect(read("output")).toBe("verdict=failed\n");
    expect(first.out).toContain("::error title=");
    expect(read("report/verify.xml")).toContain("<testsuite");
    expect(read("summary.md")).toContain("duplicates.in-sequence");

    const second = await act({
      REPORTS: "again",
      ARGUMENTS: `${FEW} --skip duplicates`,
      GITHUB_OUTPUT: "second",
    });
    expect(second.status).toBe(0);
    expect(read("second")).toBe("verdict=passed\n");
  });
});

test("the GitLab job and the lines for any shell pass with a correct receiver, and write their reports", async () => {
  const { webhooks } = z
    .object({
      webhooks: z.object({
        script: z.array(z.string()),
        artifacts: z.object({ paths: z.array(z.string()), reports: z.object({ junit: z.string() }) }),
      }),
    })
    .parse(parse(blockUnder(PAGE, "GitLab", "yaml")));
  const [gitlab, shell] = await Promise.all([project(200), project(200)]);
  const [job, lines] = await Promise.all([
    // Few checks, of which none asks for effects.
    gitlab.bash(webhooks.script.join("\n")),
    shell.bash(blockUnder(PAGE, "Any shell", "sh")),
  ]);
  for (const { status, out } of [job, lines]) {
    expect(out).toContain("PASSED");
    expect(status).toBe(0);
  }
  for (const name of [...webhooks.artifacts.paths, webhooks.artifacts.reports.junit]) {
    expect(gitlab.read(name)).not.toBe("");
  }
  expect(shell.read("verify.xml")).toContain("<testsuite");
});
