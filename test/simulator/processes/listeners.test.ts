import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  parseCommandLine,
  parseLsof,
  parseNetstat,
  parseProcNet,
} from "../../../simulator/processes/listener-tables.ts";
import { listListeners, offered } from "../../../simulator/processes/listeners.ts";
import { listen } from "../../helpers/listen.ts";

describe("the tables of the system", () => {
  test("of Linux: addresses of both families, listeners only", () => {
    const tail = "00000000:00000000 00:00000000 00000000  1000        0";
    const table = [
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
      `   0: 0100007F:0BB8 00000000:0000 0A ${tail} 111 1 0 100 0 0 10 0`,
      `   1: 00000000:1F90 00000000:0000 0A ${tail} 112 1 0 100 0 0 10 0`,
      `   2: 0100007F:0BB9 0100007F:0BB8 01 ${tail} 113 1 0 100 0 0 10 0`,
      `   3: 00000000000000000000000001000000:0BBA 00000000000000000000000000000000:0000 0A ${tail} 114 1`,
      `   4: 00000000000000000000000000000000:0BBB 00000000000000000000000000000000:0000 0A ${tail} 115 1`,
      `   5: 0000000000000000FFFF00000100007F:0BBC 00000000000000000000000000000000:0000 0A ${tail} 116 1`,
      `   6: B80D0120000000000000000001000000:0BBD 00000000000000000000000000000000:0000 0A ${tail} 117 1`,
      "",
    ].join("\n");

    expect(parseProcNet(table)).toEqual([
      { address: "127.0.0.1", port: 3000, inode: "111" },
      { address: "0.0.0.0", port: 8080, inode: "112" },
      { address: "::1", port: 3002, inode: "114" },
      { address: "::", port: 3003, inode: "115" },
      { address: "127.0.0.1", port: 3004, inode: "116" },
      { address: "2001:db8:0:0:0:0:0:1", port: 3005, inode: "117" },
    ]);
  });

  test("of macOS: each file belongs to the process above it", () => {
    const text = "p501\ncnode\nf21\nn*:3000\nf22\nn[::1]:3001\np77\ncruby\nf5\nn127.0.0.1:4567\n";
    expect(parseLsof(text)).toEqual([
      { address: "::", port: 3000, pid: 501, program: "node" },
      { address: "::1", port: 3001, pid: 501, program: "node" },
      { address: "127.0.0.1", port: 4567, pid: 77, program: "ruby" },
    ]);
  });

  test("of Windows, whatever its language", () => {
    const text = [
      "  Proto  Lokale Adresse         Remoteadresse          Status           PID",
      "  TCP    0.0.0.0:3000           0.0.0.0:0              ABHÖREN         4312",
      "  TCP    127.0.0.1:3000         127.0.0.1:52113        HERGESTELLT     4312",
      "  TCP    [::1]:8080             [::]:0                 ABHÖREN         99",
      "  UDP    0.0.0.0:123            *:*                                    5",
    ].join("\r\n");
    expect(parseNetstat(text)).toEqual([
      { address: "0.0.0.0", port: 3000, pid: 4312, program: null },
      { address: "::1", port: 8080, pid: 99, program: null },
    ]);
  });
});

test.each([
  ["/usr/bin/node\0/home/a/app/server.js\0--token=secret\0", "node server.js"],
  ["node\0--require\0./hook.cjs\0--watch\0src/main.ts\0", "node main.ts"],
  ["/usr/bin/python3\0-m\0uvicorn\0app:app\0", "python3"],
  ["/opt/receiver\0whsec_secret\0", "receiver"],
  ["", null],
])("a command line %j is shown as %j", (commandLine, shown) => {
  expect(parseCommandLine(commandLine)).toBe(shown);
});

describe("who is offered", () => {
  const at = (address: string, port: number, pid = 1) => ({ address, port, pid, program: "app" });

  test("is who can be reached over loopback, once, the usual ports first", () => {
    const listening = [
      at("::1", 40_001),
      at("0.0.0.0", 8000),
      at("192.168.1.5", 3005),
      at("127.0.0.1", 3000),
      at("::1", 3000),
      at("127.0.0.53", 4999),
      at("::", 4100),
    ];
    expect(offered(listening, 2).map(({ host, port }) => `${host}:${port}`)).toEqual([
      "localhost:3000",
      "localhost:8000",
      "localhost:4100",
      "127.0.0.53:4999",
      "localhost:40001",
    ]);
  });

  test("is neither this process nor a database, a debugger or a remote shell", () => {
    const listening = [at("127.0.0.1", 3000, 7), at("::", 5432), at("127.0.0.1", 9229), at("0.0.0.0", 22)];
    expect(offered(listening, 7)).toEqual([]);
    expect(offered(listening, 8)).toMatchObject([{ port: 3000 }]);
  });

  test("stands by the name under which it is reached, also where another address of 127.0.0.0/8 has the port", () => {
    const both = [at("127.0.0.2", 3000, 5), at("127.0.0.1", 3000, 6)];
    expect(offered(both, 1)).toMatchObject([{ host: "localhost", pid: 6 }]);
    expect(offered(both.toReversed(), 1)).toMatchObject([{ host: "localhost", pid: 6 }]);
  });
});

test.runIf(process.platform === "linux")(
  "this machine tells of a program that listens, and not of us",
  async () => {
    const script =
      'require("net").createServer().listen(0,"127.0.0.1",function(){console.log(this.address().port)})';
    const child = spawn(process.execPath, ["-e", script, "x/server.js", "--secret=whsec_1"]);
    onTestFinished(() => void child.kill());
    const [line] = await once(child.stdout, "data");
    const { port: ownPort } = await listen(createServer());

    const listed = await listListeners();

    if (!listed.ok) throw new Error(listed.message);
    expect(listed.listeners).toContainEqual({
      host: "localhost",
      port: Number(String(line)),
      pid: child.pid,
      program: "node server.js",
    });
    expect(listed.listeners.map(({ port }) => port)).not.toContain(ownPort);
  },
);
