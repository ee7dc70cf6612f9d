import { expect, test } from "vitest";
import { createKeptAnswer } from "../../../simulator/sender/answer.ts";

const HEAD = { status: 200, headers: [] };
const MOST_BYTES = 16 * 1024;

test.each([1, 7, 1_000, 20_000])("a body in pieces of %d bytes is kept to 16 KiB, in order", (size) => {
  const body = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index % 251));
  const kept = createKeptAnswer(HEAD);
  const hadRoom: number[] = [];
  for (let at = 0; at < body.byteLength; at += size)
    if (kept.take(body.subarray(at, at + size))) hadRoom.push(at + size);
  expect(hadRoom.length).toBe(Math.floor(MOST_BYTES / size));
  expect(kept.answer()).toEqual({ headers: {}, body: body.subarray(0, MOST_BYTES), truncated: true });
});

test("a body of 16 KiB is whole, and so is an empty one", () => {
  const body = Buffer.alloc(MOST_BYTES, "x");
  const kept = createKeptAnswer(HEAD);
  expect(kept.answer()).toEqual({ headers: {}, body: Buffer.alloc(0), truncated: false });
  expect(kept.take(body)).toBe(true);
  expect(kept.answer()).toEqual({ headers: {}, body, truncated: false });
});

test("all values of a repeated header are kept, in order", () => {
  const headers: [string, string][] = ["1", "2", "3"].map((value) => ["x", value]);
  expect(createKeptAnswer({ status: 200, headers }).answer().headers).toEqual({ x: ["1", "2", "3"] });
});

test("kept bytes are copied at once, so that no read buffer is retained", () => {
  const read = Buffer.from("ab");
  const kept = createKeptAnswer(HEAD);
  kept.take(read.subarray(0, 1));
  kept.take(read.subarray(1));
  read.fill("x");
  expect(kept.answer().body.toString()).toBe("ab");
});
