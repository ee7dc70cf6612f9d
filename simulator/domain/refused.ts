/** Why something was not done, with what to do instead. */
export type Refused = { ok: false; message: string };

export function refused(message: string): Refused {
  return { ok: false, message };
}
