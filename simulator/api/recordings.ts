import { type RequestHandler, Router, type Router as RouterType } from "express";
import type { World } from "../domain/world/world.ts";
import { refusal } from "./answer.ts";
import { createRecording } from "./recording.ts";

/**
 * Where `recording_url` points: a short mp3 for every call, to be mounted at /recordings. Takes no API key, as an audio
 * element of a page could not send one; parts of it can be asked for, so that players can seek.
 */
export function createRecordings(options: { world: World }): RouterType {
  const recording = createRecording();
  const router = Router({ caseSensitive: true, strict: true });

  const play: RequestHandler<{ id: string }> = (request, response) => {
    const { id } = request.params;
    if (options.world.findCall(id) === undefined) {
      const { status, body } = refusal("not_found", `Call ${id} was not found, so it has no recording.`);
      response.status(status).json(body);
      return;
    }
    response.type("audio/mpeg").set("Accept-Ranges", "bytes");
    const ranges = request.range(recording.length, { combine: true });
    if (ranges === -1) {
      response.status(416).set("Content-Range", `bytes */${recording.length}`).end();
      return;
    }
    const range = ranges === undefined || ranges === -2 || ranges.length !== 1 ? undefined : ranges[0];
    if (range === undefined || ranges === undefined || ranges === -2 || ranges.type !== "bytes") {
      response.send(recording);
      return;
    }
    response
      .status(206)
      .set("Content-Range", `bytes ${range.start}-${range.end}/${recording.length}`)
      .send(recording.subarray(range.start, range.end + 1));
  };
  router.get("/:id.mp3", play);
  return router;
}
