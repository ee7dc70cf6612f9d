import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  exportEvents,
  listInbox,
  requeueEvents,
  showEvent,
} from "../../receiver/operations/commands/inbox.ts";
import { backup, runDoctor, recover } from "../../receiver/operations/commands/care.ts";
import { move } from "../../receiver/engines/postgres/move/command.ts";
import { runReconcile } from "../../receiver/operations/commands/reconcile.ts";
import { orComplain } from "../../receiver/operations/commands/with-engine.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { sampleOrganization } from "../../shared/samples.ts";
import { filesOf } from "../repository/files.ts";
import { idOf, newBody, post } from "./helpers/events.ts";
import { startIntake } from "./helpers/intake.ts";
import { runCommand } from "./helpers/process.ts";
import { rawRequest, sendRaw } from "./helpers/raw.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { handler } from "./engine-suite/harness.ts";
import { API_KEY, makeCalls, startRestService } from "./helpers/rest-service.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { recordingTerminal, type RecordingTerminal } from "./helpers/terminal.ts";
import { until } from "./helpers/until.ts";

/** What others say reaches terminals and the logs of build servers as plain lines, whichever command shows it. */

const EVERY_UNIT = Array.from({ length: 0x1_00_00 }, (_, unit) => String.fromCharCode(unit)).join("");
const EVERY_LATIN_CHARACTER = EVERY_UNIT.slice(0, 0x100);
const HOSTILE = `::error::x ##vso[task.complete]x\n::set-output name=a::b\r##[error]\u001b[2J\u202e\u2028${EVERY_LATIN_CHARACTER}`;

/** Every control character and every command that a name can hold. */
const NAME_OF_A_FILE =
  HOSTILE.slice(0, HOSTILE.indexOf(EVERY_LATIN_CHARACTER)) +
  EVERY_LATIN_CHARACTER.slice(1, 0x20) +
  EVERY_LATIN_CHARACTER.slice(0x7f, 0xa0);

const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const BUILD_COMMAND = /^\s*::|##\w*\[/;

/** Lines as they left, with the line breaks that are ours between them. */
function expectPlain(lines: readonly string[]): void {
  for (const line of lines.flatMap((text) => text.split("\n"))) {
    expect(line).not.toMatch(STEERING);
    expect(line).not.toMatch(BUILD_COMMAND);
  }
}

describe("printable", () => {
  test("is the only way to a terminal", () => {
    const writing = [...filesOf(/^receiver\/.*\.ts$/)].filter(([, source]) =>
      /\bconsole\.|\bprocess\.std(?:out|err)\.write|\bwriteSync\(/.test(source),
    );
    expect(writing.map(([path]) => path)).toEqual([]);
  });
});

/** Runs a command and answers what it printed and said, after a look at every line. */
async function shown(command: (terminal: RecordingTerminal) => Promise<unknown>): Promise<string> {
  const terminal = recordingTerminal();
  await orComplain(terminal, async () => {
    await command(terminal);
    return undefined;
  });
  const lines = [...terminal.printed, ...terminal.said];
  expectPlain(lines);
  return lines.join("\n");
}

describe("what others say", () => {
  test("in events and handlers' errors is plain in every command of the inbox", async () => {
    const { engine, url } = await startTestReceiver();
    const body = newBody("call.completed", { type: HOSTILE, [HOSTILE]: HOSTILE });
    expect((await post(url, body)).status).toBe(200);
    const processor = await engine.work.process({
      workerId: "test",
      handlers: [handler()],
      handle: async () => ({ kind: "dead", error: HOSTILE }),
      concurrency: 1,
      onHandled: () => undefined,
      onTrouble: () => undefined,
    });
    await until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.dead === 1,
    );
    await processor.drain(0);

    const id = idOf(body);
    for (const json of [true, false]) {
      expect(await shown(async (terminal) => listInbox({ engine, terminal }, { limit: 5, json }))).toContain(
        json ? "x #\\u0023vso[" : "x #\\#vso[",
      );
      const options = { body: true, json };
      const event = await shown(async (terminal) => showEvent({ engine, terminal }, id, options));
      expect(JSON.parse(event.slice(0, event.lastIndexOf("}") + 1))).toMatchObject({
        type: "other",
        last_error: HOSTILE,
        envelope: { [HOSTILE]: HOSTILE },
      });
      await shown(async (terminal) => showEvent({ engine, terminal }, HOSTILE, options));
      await shown(async (terminal) => requeueEvents({ engine, terminal }, [HOSTILE], { json }));
    }
    const exported = await shown(async (terminal) =>
      exportEvents({ engine, terminal }, { includePersonalData: true }),
    );
    expect(JSON.parse(exported)).toEqual(JSON.parse(body.toString()));
    await shown(async (terminal) => exportEvents({ engine, terminal }, {}));
  });

  test("in answers of the REST API is plain in reconcile and doctor", async () => {
    const { engine, config } = await startTestReceiver();
    const { baseUrl, state } = await startRestService();
    const withApi = { ...config, api: { baseUrl, key: API_KEY } };
    const answer = (status: number, json: unknown) => {
      state.interludes = Array.from({ length: 4 }, () => (_, response) => {
        response.writeHead(status).end(JSON.stringify(json));
      });
    };
    for (const json of [true, false]) {
      state.calls = makeCalls(1, Date.now(), `${String(json)}${HOSTILE.slice(0, 200)}`);
      const healed = await shown(async (terminal) =>
        runReconcile({ config: withApi, engine, terminal }, { since: 3_600, json }),
      );
      expect(healed).toContain(json ? String.raw`#\u0023vso[` : String.raw`#\#vso[`);
      for (const command of [
        async (terminal: RecordingTerminal) =>
          runReconcile({ config: withApi, engine, terminal }, { since: 60, json }),
        async (terminal: RecordingTerminal) =>
          runDoctor({ config: withApi, engine, terminal }, { json, verbose: true }),
      ]) {
        answer(403, { error: HOSTILE, message: HOSTILE });
        expect(await shown(command)).toContain("answered 403");
      }
      answer(200, { ...sampleOrganization, name: HOSTILE, id: HOSTILE });
      const examined = await shown(async (terminal) =>
        runDoctor({ config: withApi, engine, terminal }, { json, verbose: true }),
      );
      expect(examined).toContain("The key belongs to");
      state.interludes = [];
    }
  });

  test("in names of files is plain where they can't be opened", async () => {
    // There is a file where a directory would have to be.
    const inTheWay = { ...testConfig(), databaseFile: `/dev/null/${HOSTILE.replaceAll("\0", "")}` };
    expect(
      await shown(async (terminal) => recover({ config: inTheWay, terminal }, { handleAgain: true })),
    ).toContain("cannot open the database");
  });

  test("in names of files and directories is plain in backup", async () => {
    const { engine } = await startTestReceiver();
    const umask = process.umask();
    onTestFinished(() => void process.umask(umask));
    const directory = join(temporaryDirectory(), NAME_OF_A_FILE);
    const copied = await shown(async (terminal) => backup({ engine, terminal }, directory));
    expect(copied).toContain(String.raw`\u001b[2J`);
    // They are there now, and none is written over; the program says so with what it says of every such failure.
    const again = await backup({ engine, terminal: recordingTerminal() }, directory).catch(
      (error: unknown) => error,
    );
    expect(again).toMatchObject({ name: "LedgerFailed", message: expect.stringContaining(NAME_OF_A_FILE) });
    await shown(async (terminal) => Promise.resolve(terminal.complain(String(again))));
  });

  test("in addresses, names of files and a database's answers is plain in move", async () => {
    const to = `postgres://127.0.0.1:1/${NAME_OF_A_FILE}`;
    const { engine, config } = await startTestReceiver();
    await engine.close();
    const missing = { ...config, databaseFile: join(temporaryDirectory(), NAME_OF_A_FILE) };
    for (const json of [true, false]) {
      const moved = async (of: typeof config, address: string): Promise<string> =>
        shown(async (terminal) => move({ config: of, terminal }, { to: address, json }));
      expect(await moved(config, NAME_OF_A_FILE)).toContain("--to takes");
      expect(await moved(missing, to)).toContain("there is no inbox at");
      expect(await moved(config, to)).toContain("cannot open the database");
    }
  });

  test("on the command line and in settings is plain in what is said about it", async () => {
    const words = HOSTILE.replaceAll("\0", "");
    const [wrongChoice, wrongSetting] = await Promise.all([
      runCommand(["inbox", "list", "--state", words]),
      runCommand([], { SIGNING_SECRET: "s", PORT: words }),
    ]);
    expect(wrongChoice.code).toBe(2);
    expect(wrongSetting.code).toBe(2);
    expectPlain([wrongChoice.stderr, wrongSetting.stderr]);
    expect(wrongSetting.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("in requests and errors is plain in the log", async () => {
    const { url, logLines } = await startIntake();
    const path = "/a##vso[x]";
    await sendRaw(url, rawRequest(url, { method: "GET", path }));
    const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
    log.error({ err: new Error(HOSTILE), [HOSTILE]: HOSTILE }, HOSTILE);
    const [request, failure] = logLines.map((line): unknown => JSON.parse(line));
    expect(request).toMatchObject({ status: 404, path });
    expect(failure).toMatchObject({ msg: HOSTILE, [HOSTILE]: HOSTILE, err: { message: HOSTILE } });
    expectPlain(logLines.map((line) => line.replace(/\n$/, "")));
  });
});
