import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { COMMANDS } from "../../simulator/commands/catalogue.ts";
import { FAULT_NAMES } from "../../simulator/domain/faults.ts";
import { READINGS } from "../../simulator/domain/readings.ts";
import { PAGES } from "./pages.ts";
import { filesOf, ROOT } from "../repository/files.ts";

const text = [...PAGES]
  .filter(([path]) => path !== "CHANGELOG.md")
  .map(([, page]) => page)
  .join("\n");
const environmentExample = filesOf(/^\.env\.example$/).get(".env.example") ?? "";
const manifest = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(filesOf(/^package\.json$/).get("package.json") ?? "{}"));

const found = (pattern: RegExp, source = text): string[] => [
  ...new Set([...source.matchAll(pattern)].map(([, name = ""]) => name)),
];

describe("commands", () => {
  const names = COMMANDS.map(({ name }) => name);

  test("of the simulator are all in the documentation", () => {
    const missing = names.filter(
      (name) => !new RegExp(`(?:simulator(?: --)?|\\|) \`?${name}\\b|\`${name}\\b`).test(text),
    );
    expect(missing).toEqual([]);
  });

  test("of the simulator in the documentation all exist", () => {
    const named = found(/(?:voice-agent-simulator|npm run simulator --) ([a-z][a-z-]*)/g);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(3);
  });

  test("that install the kit name its file, since it is in no registry", () => {
    expect(text).not.toMatch(/npm (?:install|i)\b[^`\n]* voice-agent-webhook-kit/);
    expect(text).toContain("npm install ../voice-agent-webhook-kit-0.1.0.tgz");
  });

  test("of npm in the documentation all exist", () => {
    const named = found(/npm run ([a-z][a-z:-]*)/g);
    expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
  });
});

describe("settings", () => {
  const config = filesOf(/^receiver\/config\.ts$/).get("receiver/config.ts") ?? "";
  const settings = [...found(/read\("([A-Z][A-Z0-9_]+)"/g, config), "SIGNING_SECRET_FILE"];
  const source = [
    ...filesOf(/^(?:receiver|simulator|shared|test|bench|tools)\/.*\.(?:ts|sh)$/).values(),
  ].join("\n");

  test("of the receiver are all in the documentation and in the example", () => {
    expect(settings.length).toBeGreaterThan(10);
    const isNamed = (name: string, page: string) => new RegExp(`\\b${name}\\b`).test(page);
    expect(settings.filter((name) => !isNamed(name, text))).toEqual([]);
    expect(settings.filter((name) => !isNamed(name, environmentExample))).toEqual([]);
  });

  test("of the receiver that are numbers have their defaults in the documentation", () => {
    // Only the cells count, not the formatter's alignment.
    const page = (PAGES.get("docs/operations.md") ?? "").replaceAll(/ +/g, " ");
    const defaults = [...config.matchAll(/read\("([A-Z_]+)", integer\(([0-9_]+),/g)];
    expect(defaults.length).toBeGreaterThan(10);
    const rows = defaults.map(
      ([, name = "", value = ""]) => `| \`${name}\` | ${value.replaceAll("_", "")} |`,
    );
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  test("in the documentation and in the example all exist", () => {
    const named = [
      ...found(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)[`=]/g),
      ...found(/^#? ?([A-Z][A-Z0-9_]+)=/gm, environmentExample),
    ];
    expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([]);
  });
});

describe("the page on security", () => {
  test("names tests that are there", () => {
    const named = found(/`(test\/[^`]+\.ts)`/g, PAGES.get("docs/security.md") ?? "");
    expect(named.filter((file) => !existsSync(ROOT + file))).toEqual([]);
  });
});

describe("readings", () => {
  test("are all in the documentation, with their choices", () => {
    const page = PAGES.get("docs/readings.md") ?? "";
    const missing = Object.entries(READINGS).flatMap(([name, { choices }]) =>
      [name, ...choices].filter((word) => !new RegExp(`\\b${word}\\b`).test(page)),
    );
    expect(missing).toEqual([]);
  });

  test("in the documentation all exist", () => {
    const choices = new Map<string, readonly string[]>(
      Object.entries(READINGS).map(([name, reading]) => [name, reading.choices]),
    );
    const named = [...text.matchAll(/--reading ([a-z_]+)=([a-z_]+)/g)];
    const wrong = named.filter(([, name = "", choice = ""]) => choices.get(name)?.includes(choice) !== true);
    expect(wrong.map(([whole]) => whole)).toEqual([]);
  });
});

describe("faults", () => {
  test("are all in the documentation", () => {
    expect(FAULT_NAMES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  test("in the documentation all exist", () => {
    const named = found(/--fault ([a-z-]+)/g);
    expect(named.filter((name) => !FAULT_NAMES.some((fault) => fault === name))).toEqual([]);
  });
});

describe("routes of the control API", () => {
  /** `GET /control/jobs[/{id}]` names two routes. */
  const named = found(/`((?:GET|POST|PATCH|DELETE) \/control[^\s`?]*)/g).flatMap((route) => {
    const [, before = "", more] = /^(.+)\[(.+)\]$/.exec(route) ?? [];
    return more === undefined ? [route] : [before, before + more];
  });
  const routes = [...filesOf(/^simulator\/control\/.*\.ts$/).values()].flatMap((source) =>
    [...source.matchAll(/router\.(get|post|patch|delete)\("([^"]+)"/g)].map(
      ([, method = "", path = ""]) => `${method.toUpperCase()} /control${path.replaceAll(/:(\w+)/g, "{$1}")}`,
    ),
  );

  test("are all in the documentation", () => {
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter((route) => !named.includes(route))).toEqual([]);
  });

  test("in the documentation all exist", () => {
    expect(named.filter((route) => !routes.includes(route))).toEqual([]);
  });
});
