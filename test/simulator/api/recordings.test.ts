import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startApi } from "./test-api.ts";

const recording = readFileSync(new URL("../../../simulator/api/recording.mp3", import.meta.url));

/** The frames of an MPEG-2 Layer III stream; throws if there is none. */
function readFrames(bytes: Buffer): { seconds: number; count: number } {
  const BIT_RATES = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
  const SAMPLE_RATES = [22_050, 24_000, 16_000];
  let count = 0;
  let seconds = 0;
  for (let offset = 0; offset < bytes.length; count += 1) {
    const header = bytes.readUInt32BE(offset);
    if (header >>> 21 !== 0x7ff) throw new Error(`No frame at byte ${offset}.`);
    if (((header >>> 19) & 3) !== 2 || ((header >>> 17) & 3) !== 1) throw new Error("Not MPEG-2 Layer III.");
    const bitRate = BIT_RATES[(header >>> 12) & 15]! * 1000;
    const sampleRate = SAMPLE_RATES[(header >>> 10) & 3]!;
    offset += Math.floor((72 * bitRate) / sampleRate) + ((header >>> 9) & 1);
    seconds += 576 / sampleRate;
    if (offset > bytes.length) throw new Error("The last frame is cut off.");
  }
  return { seconds, count };
}

describe("a recording", () => {
  test("is a short, valid mp3", () => {
    const { seconds, count } = readFrames(recording);
    expect(count).toBeGreaterThan(10);
    expect(seconds).toBeGreaterThan(1);
    expect(seconds).toBeLessThan(5);
    expect(recording.length).toBeLessThan(20_000);
  });

  test("control: a stream that is cut or garbled is detected", () => {
    expect(() => readFrames(recording.subarray(0, 100))).toThrow("cut off");
    expect(() => readFrames(recording.subarray(1))).toThrow("No frame");
  });

  test("is served at the URL in every call, without a key", async () => {
    const { get, world } = await startApi();
    const happened = world.happen("call.completed");
    const history = world.calls("org_5f2c81d0a7b94e63", { limit: 3 });
    if (!happened.ok || !history.ok) throw new Error("unexpected");
    for (const call of [happened.object, ...history.data]) {
      const url = String(call["recording_url"]);
      expect(url).toBe(`http://localhost:4010/recordings/${String(call["id"])}.mp3`);
      const { status, headers } = await get(new URL(url).pathname, { key: null });
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("audio/mpeg");
      expect(headers.get("content-length")).toBe(String(recording.length));
      expect(headers.get("accept-ranges")).toBe("bytes");
    }
  });

  test("can be requested in parts", async () => {
    const { get, world } = await startApi();
    const page = world.calls("org_5f2c81d0a7b94e63", { limit: 1 });
    const path = `/recordings/${page.ok ? String(page.data[0]?.["id"]) : ""}.mp3`;
    const size = recording.length;
    const part = async (range: string) => {
      const { status, headers } = await get(path, { headers: { range } });
      return [status, headers.get("content-range"), headers.get("content-length")];
    };
    expect(await part("bytes=0-99")).toEqual([206, `bytes 0-99/${size}`, "100"]);
    expect(await part("bytes=100-")).toEqual([206, `bytes 100-${size - 1}/${size}`, String(size - 100)]);
    expect(await part("bytes=-10")).toEqual([206, `bytes ${size - 10}-${size - 1}/${size}`, "10"]);
    expect(await part("pages=1-2")).toEqual([200, null, String(size)]);
    expect(await part("bytes=0-1,5-6")).toEqual([200, null, String(size)]);
    expect((await get(path, { method: "HEAD" })).headers.get("content-length")).toBe(String(size));
  });

  test("is 404 for an unknown call", async () => {
    const { get } = await startApi();
    expect(await get("/recordings/call_nothere.mp3")).toMatchObject({
      status: 404,
      body: { error: "not_found" },
    });
  });
});
