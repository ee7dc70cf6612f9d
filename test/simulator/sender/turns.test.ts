import { expect, test } from "vitest";
import { Socket } from "node:net";
import { createTurns } from "../../../simulator/sender/turns.ts";

/** Sockets that only say when they were let go on. */
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

test("one connection that gives way goes on in each turn of the event loop, in their order", async () => {
  const resumed: number[] = [];
  const turns = createTurns();
  const flooding = sockets(4, resumed);
  for (const socket of flooding) turns.giveWay(socket);
  expect(flooding.every((socket) => socket.isPaused())).toBe(true);
  const seen: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(resumed.length);
  }
  expect(resumed).toEqual([0, 1, 2, 3]);
  expect(seen.every((count, turn) => count - (seen[turn - 1] ?? 0) <= 1)).toBe(true);
});

test("one that gives way again waits behind the others, and later ones are served as well", async () => {
  const resumed: number[] = [];
  const turns = createTurns();
  const [first, second] = sockets(2, resumed);
  turns.giveWay(first!);
  turns.giveWay(second!);
  await new Promise((resolve) => setImmediate(resolve));
  turns.giveWay(first!);
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(resumed).toEqual([0, 1, 0]);
  turns.giveWay(second!);
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(resumed).toEqual([0, 1, 0, 1]);
});
