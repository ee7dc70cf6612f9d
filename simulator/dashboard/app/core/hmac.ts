import { useEffect, useState } from "preact/hooks";

/** HMAC-SHA256 of `text` under `secret`, in lower-case hexadecimal. */
async function hmacHex(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same for what is typed; empty while there is no secret, since an empty key is none that a browser takes. */
export function useDigest(secret: string, text: string): string {
  const [digest, setDigest] = useState("");
  useEffect(() => {
    let isCurrent = true;
    async function update() {
      const hex = secret === "" ? "" : await hmacHex(secret, text);
      if (isCurrent) setDigest(hex);
    }
    void update();
    return () => void (isCurrent = false);
  }, [secret, text]);
  return digest;
}
