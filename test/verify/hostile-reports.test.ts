import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SaxesParser } from "saxes";
import { expect, onTestFinished, test } from "vitest";
import { createOutput } from "../../simulator/commands/output.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { writeReports } from "../../simulator/verify/reports/targets.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { written } from "./written.ts";

/** The first 256 characters, others that control a terminal, and commands of build servers. */
const HOSTILE = [
  Array.from({ length: 0x100 }, (_, unit) => String.fromCharCode(unit)).join(""),
  "\u202e\u2066\u2028\u2029\ufeff\ufffe\uffff\u{e0001}\ud800",
  "\n::error::pwned\r\n::set-output name=x::y\n##[error]x ##vso[task.complete]x",
  "]]> <script>alert(1)</script> &amp; </failure> | `` ``` @everyone [x](javascript:y)",
].join(" ");

/** Characters that no line may contain: those that control a terminal, except for our own line breaks. */
const STEERING = /(?!\n)\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/u;
const BUILD_COMMAND = /^[^\S\n]*::(?!error title=|warning title=|notice title=)|##\w*\[/m;

const FORMATS = ["pretty", "json", "junit", "markdown", "github"] as const;

test.each(FORMATS)(
  "the %s report contains nothing that controls a terminal or a build server",
  async (format) => {
    const text = await written(await hostileReport(), format);

    expect(text).toContain("duplicates.in-sequence");
    expect(text).not.toMatch(STEERING);
    expect(text).not.toMatch(BUILD_COMMAND);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(Buffer.from(SECRET).toString("base64"));
    expect(text).not.toMatch(/pass:word|api-key/);
  },
);

test("control: their raw input would do all of it", async () => {
  const { results, seed } = await hostileReport();
  const said = results.map(({ explanation = "" }) => explanation).join("\n");
  expect(said).toMatch(STEERING);
  expect(said).toMatch(BUILD_COMMAND);
  expect(seed).toMatch(STEERING);
});

test("a terminal gets the same text as a file, except for colours", async () => {
  const report = await hostileReport();
  const printed: string[] = [];
  await writeReports(report, [{ format: "pretty" }, { format: "github" }], {
    document: (text) => void printed.push(text),
    style: (style, text) => `<${style}>${text}</${style}>`,
  });

  expect(printed.join("").replaceAll(/<\/?(?:red|green|yellow|dim|bold)>/g, "")).toBe(
    (await written(report, "pretty")) + (await written(report, "github")),
  );
});

test("JUnit is well-formed XML, and says what went wrong", async () => {
  const elements = new Map<string, string[]>();
  const parser = new SaxesParser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    elements.set(name, [...(elements.get(name) ?? []), attributes["message"] ?? attributes["name"] ?? ""]);
  });
  parser.write(await written(await hostileReport(), "junit")).close();

  expect(elements.get("testsuites")).toEqual(["voice-agent-simulator verify"]);
  expect(elements.get("failure")?.join("")).toContain(String.raw`\u001b`);
  expect(elements.get("failure")?.join("")).toContain("</failure>");
  expect(elements.get("property")).toEqual(["cause", "advice"]);
});

test("JSON has the exact bytes of answers", async () => {
  const report = JSON.parse(await written(await hostileReport(), "json")) as {
    checks: { evidence?: { received: { body: string } }[] }[];
  };
  const bodies = report.checks.flatMap(({ evidence = [] }) => evidence.map(({ received }) => received.body));
  expect(bodies.join("")).toContain("\u001b");
  expect(bodies.join("")).toContain("\n::error::pwned");
});

test("each report that cannot be written is named in one line, and the others are still written", async () => {
  const folder = mkdtempSync(join(tmpdir(), "verify-reports-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "verify.md");
  const failures = await writeReports(
    await hostileReport(),
    [
      { format: "json", file: folder },
      { format: "markdown", file },
    ],
    createOutput({ json: false }),
  );

  expect(failures).toEqual([`The report ${folder} could not be written (EISDIR).`]);
  expect(readFileSync(file, "utf8")).toContain("### Webhook receiver");
});

test("a title with a comma is complete in a GitHub annotation", async () => {
  const report = await hostileReport();
  const results = report.results.map((one) => ({
    ...one,
    ...(one.cause && { cause: "sometimes" as const }),
  }));
  const title = "title=It failed once%2C and passed when it was sent again::";
  expect(await written({ ...report, results }, "github")).toContain(title);
});

let made: Promise<Report> | undefined;

/** The report on a receiver that answers with all of the above, the secret and a URL with a password. */
function hostileReport(): Promise<Report> {
  made ??= makeHostileReport();
  return made;
}

async function makeHostileReport(): Promise<Report> {
  const receiver = await startMutant(
    {
      duplicateStatus: 409,
      takeApart: (value) => {
        const [t = "", v1 = ""] = value.split(",").map((pair) => pair.replace(/^\w+=/, ""));
        return { ts: [t], v1s: [v1] };
      },
      answer(response, status) {
        response.writeHead(status, { "X-Secret": SECRET });
        response.end(
          `${SECRET} ${Buffer.from(SECRET).toString("base64")} http://user:pass:word@host/ ${HOSTILE}`,
        );
      },
    },
    Date.now,
  );
  try {
    const checks = CATALOGUE.filter(({ id }) =>
      ["duplicates.in-sequence", "signature.key-order", "effects.each-type"].includes(id),
    );
    const report = await verifyReceiver({
      url: receiver.url.replace("http://", "http://user:pass:word@"),
      secret: SECRET,
      seed: "hostile \u001b[2J ::error::",
      checks,
      failOn: [],
      readyTimeoutMs: 30_000,
      now: Date.now,
    });
    // An answer is cut after 160 characters; other texts, such as a receiver's last output, are not.
    const results = report.results.map((result) => ({
      ...result,
      ...(result.explanation !== undefined && { explanation: `${result.explanation} ${HOSTILE}` }),
    }));
    return { ...report, results, receiverOutput: [HOSTILE] };
  } finally {
    await receiver.close();
  }
}
