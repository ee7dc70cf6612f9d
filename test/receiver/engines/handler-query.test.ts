import { expect, test } from "vitest";
import { createHandlerQuery } from "../../../receiver/engines/handler-query.ts";

function setUp() {
  const ran: string[] = [];
  const db = createHandlerQuery((sql) => {
    ran.push(sql);
    if (sql.startsWith("SELECT broken")) throw new Error("it is broken");
    return [{ n: ran.length }];
  });
  return { ran, db };
}

const CONTROL = [
  "BEGIN",
  "START",
  "COMMIT",
  "END",
  "ROLLBACK",
  "ABORT",
  "SAVEPOINT",
  "RELEASE",
  "PREPARE TRANSACTION",
  "VACUUM",
  "ATTACH",
  "DETACH",
];

test.each(CONTROL)("%s is refused, however it is written and whatever stands before it", async (word) => {
  const before = ["", "  \n", ";", "-- a comment\n", "/* one\n of two lines */", "-- a\n/* b */ ; \n--\n"];
  for (const text of before.flatMap((start) => [word, word.toLowerCase()].map((one) => start + one))) {
    for (const rest of ["", ";", " x", "\n", "/**/"]) {
      const { ran, db } = setUp();
      await expect(db.query(text + rest)).rejects.toThrow(
        `${word} inside atomically(): it begins and ends the transaction itself`,
      );
      expect(ran).toEqual([]);
      expect(() => db.end()).toThrow(word);
    }
  }
});

test.each(["/* a /* b */ c */ COMMIT", "/* a /* b */ COMMIT -- */", "-- a\n/*/* */COMMIT", "/* COMMIT"])(
  "%s, which one database reads in another way than the other, is refused",
  async (sql) => {
    const { ran, db } = setUp();
    await expect(db.query(sql)).rejects.toThrow("a comment within a comment");
    expect(ran).toEqual([]);
  },
);

test("PREPARE TRANSACTION is refused with a comment between its words", async () => {
  const { ran, db } = setUp();
  await expect(db.query("PREPARE/* a */TRANSACTION 'a'")).rejects.toThrow("inside atomically()");
  expect(ran).toEqual([]);
});

test.each([
  "SELECT 'COMMIT'",
  "/*/ COMMIT */ SELECT 1",
  "SELECT 1 /* a /* b */ c */",
  "SELECT 1 -- COMMIT",
  "/* COMMIT */ SELECT 1",
  "-- COMMIT\nSELECT 1",
  "BEGINNING",
  "ENDS",
  "END_OF_DAY",
  "PREPARE a AS SELECT 1",
  "UPDATE t SET state = 'END'",
])("%s is run as it is", async (sql) => {
  const { ran, db } = setUp();
  expect(await db.query(sql)).toEqual([{ n: 1 }]);
  expect(ran).toEqual([sql]);
  db.end();
});

test.each<[unknown, string]>([
  [undefined, "of type undefined"],
  [true, "of type boolean"],
  [{}, "of type object"],
  [[1], "an array"],
  [new Date(0), "a Date"],
  [Symbol("s"), "of type symbol"],
])("the value %o is refused by its number and kind", async (value, kind) => {
  const { ran, db } = setUp();
  const values = [1, "two", 3n, null, new Uint8Array(1), value];
  await expect(db.query("SELECT 1", values as never)).rejects.toThrow(`The value for $6 is ${kind}. Pass a`);
  expect(ran).toEqual([]);
});

test("a statement that failed fails what comes after it, and the whole, though its error was caught", async () => {
  const { ran, db } = setUp();
  await expect(db.query("SELECT broken")).rejects.toThrow("it is broken");
  await expect(db.query("COMMIT")).rejects.toThrow("it is broken");
  await expect(db.query("SELECT 1")).rejects.toThrow("it is broken");
  expect(ran).toEqual(["SELECT broken"]);
  expect(() => db.end()).toThrow("it is broken");
});

test.each(["end", "close"] as const)("after its %s nothing is run", async (how) => {
  const { ran, db } = setUp();
  await db.query("SELECT 1");
  db[how]();
  await expect(db.query("SELECT 2")).rejects.toThrow("This transaction has ended: await every query");
  expect(ran).toEqual(["SELECT 1"]);
});
