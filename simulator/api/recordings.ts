import { Router, type Router as RouterType } from "express";
import { fileURLToPath } from "node:url";
import type { World } from "../domain/world/world.ts";
import { refusal } from "./answer.ts";

/** Contains `recording.mp3`: two seconds of a soft, audible tone. */
const root = fileURLToPath(new URL(".", import.meta.url));

/** Serves a short mp3 for every call at /recordings, without an API key, since an audio element cannot send one. */
export function createRecordings(options: { world: World }): RouterType {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/:id.mp3", (request, response) => {
    const { id } = request.params;
    if (options.world.findCall(id) !== undefined) return response.sendFile("recording.mp3", { root });
    const { status, body } = refusal("not_found", `Call ${id} was not found, so it has no recording.`);
    response.status(status).json(body);
  });
  return router;
}
