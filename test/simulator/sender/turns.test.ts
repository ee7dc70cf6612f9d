import { expect, test } from "vitest";
import { Socket } from "node:net";
import { createTurns } from "../../../simulator/sender/turns.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";

/** Sockets that only record when they were resumed. */
function sockets(count: number, resumed: number[]): Socket[] {
  return Array.from({ length: count }, (_, index) => {
    const socket = new Socket();
    socket.resume = () => {
      resumed.push(index);
      return socket;
    };
    return socket;
  });
}

test("in each turn of the event loop the next waiting connection continues, in order", async () => {
  const resumed: number[] = [];
  const turns = createTurns();
  const flooding = sockets(4, resumed);
  for (const socket of flooding) turns.giveWay(socket);
  expect(flooding.every((socket) => socket.isPaused())).toBe(true);
  const seen: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    await loopTurns(1);
    seen.push(resumed.length);
  }
  expect(resumed).toEqual([0, 1, 2, 3]);
  expect(seen.every((count, turn) => count - (seen[turn - 1] ?? 0) <= 1)).toBe(true);
});

test("one that pauses again waits behind the others, and later ones are served as well", async () => {
  const resumed: number[] = [];
  const turns = createTurns();
  const [first, second] = sockets(2, resumed);
  turns.giveWay(first!);
  turns.giveWay(second!);
  await loopTurns(1);
  turns.giveWay(first!);
  await loopTurns(4);
  expect(resumed).toEqual([0, 1, 0]);
  turns.giveWay(second!);
  await loopTurns(2);
  expect(resumed).toEqual([0, 1, 0, 1]);
});

/** Sockets that receive what the test pushes, and a record of what was read from them. */
async function floods(count: number) {
  const turns = createTurns();
  const read: string[] = [];
  const all = Array.from({ length: count }, (_, index) => {
    const socket = new Socket();
    // Only the test provides data.
    socket._read = () => {};
    socket.on("data", (bytes: Buffer) => {
      if (turns.take(socket, bytes)) read.push(`${String(index)}: ${String(bytes.byteLength)}`);
    });
    return socket;
  });
  await loopTurns(1);
  return { read, all };
}

const LARGE = 16 * 1024 + 1;

test("of large pieces that arrive in one turn one is read, and the others whole in a turn each", async () => {
  const { read, all } = await floods(4);
  for (const [index, socket] of all.entries()) socket.push(Buffer.alloc(LARGE + index));
  const seen: number[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    seen.push(read.length);
    await loopTurns(1);
  }
  expect(read).toEqual(["0: 16385", "1: 16386", "2: 16387", "3: 16388"]);
  expect(seen.every((count, turn) => count - (seen[turn - 1] ?? 0) <= 1)).toBe(true);
});

test("a small piece is read at once, and a large one in the next turn", async () => {
  const { read, all } = await floods(3);
  all[0]?.push(Buffer.alloc(LARGE));
  all[1]?.push(Buffer.alloc(LARGE - 1));
  expect(read).toEqual(["0: 16385", "1: 16384"]);
  await loopTurns(1);
  all[2]?.push(Buffer.alloc(LARGE));
  expect(read).toEqual(["0: 16385", "1: 16384", "2: 16385"]);
});
