import { receiver } from "../../receiver.mjs";

export async function POST(request) {
  return (await receiver()).fetch(request);
}
