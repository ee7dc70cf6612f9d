import { receiver } from "../../../receiver.mjs";

/** How often an event was handled, which `verify` asks for. */
export async function GET(_request, { params }) {
  const { id } = await params;
  const event = await (await receiver()).event(id);
  return Response.json({ handled: event?.handled ?? 0 });
}
