import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { parseInPortions, release } from "../../shared/listener/portions.ts";

/** A connection, and what its parser was given. */
function connection(isOver: (parsed: readonly string[]) => boolean = () => false) {
  const parsed: string[] = [];
  const socket = Object.assign(new EventEmitter(), { destroyed: false });
  socket.on("data", (bytes: Buffer) => parsed.push(bytes.toString()));
  parseInPortions(socket, () => isOver(parsed));
  return { socket, parsed };
}

const ownBuffer = (text: string): Buffer => {
  const bytes = Buffer.from(new ArrayBuffer(text.length));
  bytes.write(text);
  return bytes;
};

test.each([
  [0, []],
  [1, [1]],
  [4_096, [4_096]],
  [4_097, [4_096, 1]],
  [10_000, [4_096, 4_096, 1_808]],
])("of %i bytes that arrive at once the parser reads portions, in their order", (length, portions) => {
  const { socket, parsed } = connection();
  const text = Array.from({ length }, (_, at) => String.fromCodePoint(33 + (at % 90))).join("");
  socket.emit("data", ownBuffer(text));
  expect(parsed.map((portion) => portion.length)).toEqual(portions);
  expect(parsed.join("")).toBe(text);
});

test("nothing more is read once it is over, or the connection is gone", () => {
  const over = connection((parsed) => parsed.length === 2);
  over.socket.emit("data", ownBuffer("x".repeat(20_000)));
  expect(over.parsed).toHaveLength(2);
  over.socket.emit("data", ownBuffer("more"));
  expect(over.parsed).toHaveLength(2);
  const gone = connection();
  gone.socket.destroyed = true;
  gone.socket.emit("data", ownBuffer("x"));
  expect(gone.parsed).toEqual([]);
});

test("what bytes occupy is given back once they are read, but for what is a part of another's", () => {
  const own = ownBuffer("x".repeat(100));
  release(own);
  expect(own.byteLength).toBe(0);
  const whole = ownBuffer("y".repeat(100));
  release(whole.subarray(10, 20));
  expect(whole.toString()).toBe("y".repeat(100));
  const arrived = ownBuffer("z".repeat(5_000));
  connection().socket.emit("data", arrived);
  expect(arrived.byteLength).toBe(0);
});
