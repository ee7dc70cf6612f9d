/**
 * The text in the bytes of a file. A byte order mark is taken off. Throws an error that says what to do if the file is in
 * UTF-16, as Windows' Notepad and PowerShell write it, or not in UTF-8.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16) throw new Error(`${name} is in UTF-16. Save it as UTF-8.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not text in UTF-8. Save it as UTF-8.`);
  }
}
