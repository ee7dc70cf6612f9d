import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { readBaseline } from "../../simulator/verify/reports/json.ts";
import { baselineJsonSchema, jsonReport, schemaFor } from "../../simulator/verify/reports/json.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";

const PATH = "simulator/schemas/verify-report.schema.json";
const report: Report = {
  invocation: { start: "verify", end: "" },
  url: "http://localhost:3000/",
  seed: "s",
  startedAt: new Date(0),
  durationMs: 1,
  verdict: "passed",
  notRun: 0,
  results: [],
  receiverOutput: [],
};

test("the JSON schema is what a baseline is read by (node tools/openapi.ts writes it anew)", () => {
  const file: z.core.JSONSchema.JSONSchema = JSON.parse(readFileSync(PATH, "utf8"));
  expect(file).toEqual(JSON.parse(JSON.stringify(baselineJsonSchema())));
  const schema = z.fromJSONSchema(file);
  const written: object = JSON.parse(jsonReport(report, "verify-baseline.json"));
  expect(schema.safeParse(written).success).toBe(true);
  expect(schema.safeParse({ ...written, object: "report" }).success).toBe(false);
});

test("a report names its schema from the folder that it stands in, and is read as a baseline all the same", () => {
  const written = jsonReport(report, "ci/verify-baseline.json");
  expect(JSON.parse(written)).toMatchObject({ $schema: `../${PATH}` });
  expect(readBaseline(written)).toEqual({ failed: new Set(), unverified: new Set() });
  expect(JSON.parse(jsonReport(report, "verify-baseline.json"))).toMatchObject({ $schema: `./${PATH}` });
});

test.each([
  ["a report on stdout", () => /"\$schema": "([^"]+)/.exec(jsonReport(report))?.[1]],
  ["a report outside the project", () => schemaFor(join(temporaryDirectory(), "verify.json"))],
  ["a kit outside the project", () => schemaFor("verify.json", join(temporaryDirectory(), "s.json"))],
])("%s names none, for it would be right on this machine alone", (_, named) => {
  expect(named()).toBeUndefined();
});
