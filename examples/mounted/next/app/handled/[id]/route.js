import { receiver } from "../../../receiver.mjs";

/** How often an event was handled, which `verify` asks for. */
export async function GET(_request, { params }) {
  const { id } = await params;
  return Response.json(await (await receiver()).handled(id));
}
