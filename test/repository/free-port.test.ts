import { expect, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";

test("no two workers are given the same port, not even one that nobody listens on yet", async () => {
  const draw = async (worker: number) =>
    Promise.all(Array.from({ length: 50 }, async () => freePort(worker)));
  const [one, two, last] = [await draw(1), await draw(2), await draw(15)];
  expect(Math.max(...one)).toBeLessThan(Math.min(...two));
  expect(Math.max(...two)).toBeLessThan(Math.min(...last));
  // Below those that the kernel gives to whoever asks for any.
  expect(Math.max(...last)).toBeLessThan(32_768);
});

test("a worker is given no port twice, and its own when none is named", async () => {
  const ports: number[] = [];
  for (let drawn = 0; drawn < 200; drawn += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(200);
  const own = await freePort(Number(process.env["VITEST_POOL_ID"]));
  for (const port of ports) expect(Math.abs(port - own)).toBeLessThan(1_000);
});
