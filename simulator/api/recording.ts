const LENGTH_SECONDS = 2;
// MPEG-2 Layer III, 22.05 kHz, 16 kbit/s, mono: sync and version, layer, bit rate and sampling rate, mode.
const HEADER = [0xff, 0xf3, 0x20, 0xc0] as const;
const SAMPLES_A_FRAME = 576;
const SAMPLE_RATE_HZ = 22_050;
const FRAME_BYTES = Math.floor((72 * 16_000) / SAMPLE_RATE_HZ);

/** The one of the 576 spectral lines that sounds: about 316 Hz. */
const TONE_LINE_INDEX = 16;
/** With these signs from frame to frame the line is a steady tone. */
const SIGNS = [0, 1, 1, 0] as const;
/** Loudness in steps of 1.5 dB below full scale at 210. */
const GAIN = 200;

/** A valid mp3: two seconds of a soft tone, so that whoever plays it hears that it works. */
export function createRecording(): Buffer {
  const frames = Math.ceil((LENGTH_SECONDS * SAMPLE_RATE_HZ) / SAMPLES_A_FRAME);
  return Buffer.concat(
    Array.from({ length: frames }, (_, index) => frameOf(SIGNS[index % SIGNS.length] ?? 0)),
  );
}

/** One frame: side information and Huffman code for lines that are all zero but one (ISO 13818-3, 2.4.1.7). */
function frameOf(sign: 0 | 1): Buffer {
  // Lines are coded in pairs; in table 1 a pair of zeros is 1, and (1, 0) is 01 and the sign.
  const spectrum = `${"1".repeat(TONE_LINE_INDEX / 2)}01${sign}`;
  const sideInformation = [
    bits(0, 8), // main data begins in this frame
    bits(0, 1), // private
    bits(spectrum.length, 12),
    bits(TONE_LINE_INDEX / 2 + 1, 9), // pairs that are coded; the rest is zero
    bits(GAIN, 8),
    bits(0, 9), // no scale factors
    bits(0, 1), // a long block
    bits(1, 5).repeat(3), // table 1 in all three regions
    bits(7, 4), // where the first region ends
    bits(7, 3), // where the second ends
    bits(0, 2), // scale factor step, table for quadruples
  ].join("");

  const frame = Buffer.alloc(FRAME_BYTES);
  frame.set(HEADER);
  const code = sideInformation + spectrum;
  for (let index = 0; index < code.length; index += 1) {
    const byte = HEADER.length + (index >>> 3);
    if (code[index] === "1") frame[byte] = (frame[byte] ?? 0) | (0x80 >>> (index & 7));
  }
  return frame;
}

function bits(value: number, width: number): string {
  return value.toString(2).padStart(width, "0");
}
