const SECONDS = 2;
// MPEG-2 Layer III, 22.05 kHz, 16 kbit/s, mono: sync and version, layer, bit rate and sampling rate, mode.
const HEADER = [0xff, 0xf3, 0x20, 0xc0] as const;
const SAMPLES_A_FRAME = 576;
const SAMPLE_RATE = 22_050;
const FRAME_BYTES = Math.floor((72 * 16_000) / SAMPLE_RATE);

/** A valid mp3 of two seconds of silence. */
export function createRecording(): Buffer {
  // A frame whose side information is all zero has no audio data: every player decodes it as silence.
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.set(HEADER);
  const frames = Math.ceil((SECONDS * SAMPLE_RATE) / SAMPLES_A_FRAME);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}
