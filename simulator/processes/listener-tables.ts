import { basename } from "node:path";

/** A listening TCP socket: its address and port, and its process where the system tells. */
export type Listening = { address: string; port: number; pid: number | null; program: string | null };

const LISTEN_STATE = "0A";
/** Within one entry of `lsof -F`, each field has a line of its own that begins with its letter. */
const LSOF_NAME = /^n(?<address>.+):(?<port>\d+)$/;
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|php|jar)$/;
const PRELOADS = /^(?:-r|--require|--import|--loader|--experimental-loader)$/;
const NETSTAT_LINE = /^\s*TCP\s+(?<address>\S+):(?<port>\d+)\s+\S+:0\s+\S+\s+(?<pid>\d+)\s*$/;

/** The listening sockets of `/proc/net/tcp` or `tcp6`, with the inode by which a process holds each. */
export function parseProcNet(table: string): { address: string; port: number; inode: string }[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [hex = "", port = ""] = local.split(":");
      if (state !== LISTEN_STATE) return [];
      return [{ address: addressOfHex(hex), port: Number.parseInt(port, 16), inode }];
    });
}

/** What `lsof -nP -iTCP -sTCP:LISTEN -Fpcn` prints (macOS, BSD). */
export function parseLsof(text: string): Listening[] {
  const listening: Listening[] = [];
  let pid: number | null = null;
  let program: string | null = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    else if (line.startsWith("c")) program = line.slice(1);
    const name = LSOF_NAME.exec(line)?.groups;
    if (name?.["address"] === undefined) continue;
    const address = name["address"] === "*" ? "::" : name["address"].replace(/^\[(.*)\]$/, "$1");
    listening.push({ address, port: Number(name["port"]), pid, program });
  }
  return listening;
}

/** What `netstat -ano` prints on Windows, in any language: a listener's peer has port 0. */
export function parseNetstat(text: string): Listening[] {
  return text.split("\n").flatMap((line) => {
    const found = NETSTAT_LINE.exec(line)?.groups;
    if (found?.["address"] === undefined) return [];
    const address = found["address"].replace(/^\[(.*)\]$/, "$1");
    return [{ address, port: Number(found["port"]), pid: Number(found["pid"]), program: null }];
  });
}

/**
 * The program and its script, without directories, of `/proc/PID/cmdline`: `node server.ts`. No more is told: what follows
 * can be secret.
 */
export function parseCommandLine(commandLine: string): string | null {
  const [file = "", ...words] = commandLine.split("\0");
  const script = words.find((word, index) => SCRIPT.test(word) && !PRELOADS.test(words[index - 1] ?? ""));
  if (file === "") return null;
  return script === undefined ? basename(file) : `${basename(file)} ${basename(script)}`;
}

/** Addresses are 32-bit words in the byte order of the machine: little-endian, except on s390x. */
function addressOfHex(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, "hex")].toReversed());
  if (bytes.length === 4) return bytes.join(".");
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  if (isMapped) return bytes.slice(12).join(".");
  if (bytes.slice(0, 15).every((byte) => byte === 0)) return bytes[15] === 1 ? "::1" : "::";
  const groups = Array.from(
    { length: 8 },
    (_, index) => (bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0),
  );
  return groups.map((group) => group.toString(16)).join(":");
}
