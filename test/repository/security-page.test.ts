import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { pageAt } from "../docs/pages.ts";
import { figuresOf, valueOf } from "./figures.ts";
import { ROOT } from "./files.ts";

/** What the page of borders says is what the code does: each line names tests that are there, each figure a constant. */

type Line = { border: string; bound: string; tests: string[] };

const lines: Line[] = pageAt("docs/security.md")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:who|border|-+) /.test(line))
  .map((line) => {
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const tests = [...(cells.at(-1) ?? "").matchAll(/`(test\/[^`]+)`/g)].map(([, path = ""]) => path);
    return { border: cells[0] ?? "", bound: cells.slice(1, -1).join(" "), tests };
  });

/** Everybody who is kept out of something has a test that tries. */
const UNTESTED = ["an operator: shell, files, environment"];

/** Where each figure of a line comes from, in the order in which the line says them. */
const SOURCES: Record<string, string[]> = {
  signature: [
    "shared/signature.ts MAXIMUM_HEADER_LENGTH",
    "shared/signature.ts MAXIMUM_SIGNATURES",
    "shared/limits.ts SIGNATURE_TOLERANCE_SECONDS",
  ],
  connections: [
    "shared/listener/connections.ts MAXIMUM_CONNECTIONS",
    "shared/listener/connections.ts MAXIMUM_PER_ADDRESS",
    "shared/listener/connections.ts LINGER_MS",
  ],
  "requests on a connection": [
    "shared/listener/connections.ts MAXIMUM_IN_FLIGHT",
    "shared/listener/index.ts UNREAD_MS",
  ],
  time: [
    "shared/listener/index.ts HEADERS_TIMEOUT_MS",
    "shared/listener/index.ts REQUEST_TIMEOUT_MS",
    "receiver/intake/group-commit.ts LIMIT_MS",
  ],
  body: ["receiver/intake/body.ts MAXIMUM_ARRIVING_BYTES"],
  JSON: ["receiver/intake/envelope.ts MAXIMUM_LEVELS"],
  "waiting for a commit": [
    "receiver/intake/group-commit.ts MAXIMUM_HELD_EVENTS",
    "receiver/intake/group-commit.ts MAXIMUM_HELD_BYTES",
  ],
  memory: ["test/borders/receiver.slow.test.ts MOST_MEGABYTES"],
  log: ["receiver/operations/request-log.ts UNSIGNED_LINES_A_SECOND"],
  "the end": ["receiver/config.ts SHUTDOWN_TIMEOUT_SECONDS"],
  "admin port": ["receiver/config-values.ts SHORTEST_TOKEN_CHARACTERS"],
  "an answer": [
    "receiver/operations/rest-client.ts MAXIMUM_RESPONSE_BYTES",
    "receiver/operations/rest-client.ts REQUEST_TIMEOUT_MS",
    "receiver/operations/rest-client.ts MAXIMUM_TRIES",
  ],
  "a list": [
    "receiver/operations/rest-client.ts MAXIMUM_PAGES",
    "receiver/operations/rest-client.ts MAXIMUM_LIST_BYTES",
    "receiver/operations/rest-client.ts LONGEST_ID",
  ],
  "what is stored": ["receiver/intake/envelope.ts MAXIMUM_LEVELS"],
  "dashboard, control": ["simulator/commands/serve-options.ts SHORTEST_TOKEN_CHARACTERS"],
  "JSON for control": [
    "simulator/text/json-shape.ts MOST_LEVELS",
    "simulator/text/json-shape.ts MOST_VALUES",
    "simulator/control/schemas.ts LONGEST_NAME_CHARACTERS",
    "simulator/control/endpoints.ts LONGEST_URL_CHARACTERS",
    "simulator/domain/world/scenario.ts LARGEST_SCENARIO_BYTES",
    "simulator/domain/stories.ts MOST_SCENARIOS",
    "simulator/domain/world/scenario.ts MOST_HAPPENINGS",
  ],
  "its connections": [
    "shared/listener/connections.ts MAXIMUM_CONNECTIONS",
    "shared/listener/connections.ts MAXIMUM_PER_ADDRESS",
    "shared/listener/index.ts HEADERS_TIMEOUT_MS",
    "simulator/server.ts REQUEST_TIMEOUT_MS",
    "shared/listener/index.ts UNREAD_MS",
    "shared/listener/connections.ts MAXIMUM_IN_FLIGHT",
  ],
  streams: ["simulator/control/stream.ts MOST_STREAMS", "simulator/control/stream.ts LARGEST_BACKLOG_BYTES"],
  "files it is given": [
    "simulator/files/bounded-file.ts MOST_BYTES",
    "simulator/replay/sources.ts LONGEST_LINE_BYTES",
    "simulator/domain/world/scenario.ts LARGEST_SCENARIO_BYTES",
  ],
  "an attempt": [
    "shared/limits.ts RESPONSE_TIMEOUT_MS",
    "test/torture/deadlines.ts TOLERANCE_MS",
    "simulator/sender/answer.ts KEPT_BYTES",
  ],
};

describe("the page of borders", () => {
  test("names tests for every line, and all of them are there", () => {
    expect(lines.length).toBeGreaterThan(25);
    expect(lines.filter(({ tests }) => tests.length === 0).map(({ border }) => border)).toEqual(UNTESTED);
    const named = lines.flatMap(({ tests }) => tests);
    expect(named.filter((path) => !existsSync(ROOT + path))).toEqual([]);
  });

  test.each(lines.filter(({ bound }) => figuresOf(bound).length > 0))(
    "says of $border what the code says",
    ({ border, bound }) => {
      expect(figuresOf(bound)).toEqual((SOURCES[border] ?? []).map(valueOf));
    },
  );

  test("is asked about no line that it doesn't have", () => {
    const borders = new Set(lines.map(({ border }) => border));
    expect(Object.keys(SOURCES).filter((border) => !borders.has(border))).toEqual([]);
  });
});
