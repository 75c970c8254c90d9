// Texts in frames: four bytes of length, then that many bytes of UTF-8.
import { ProtocolError } from './errors.js';

/** Bytes of the longest text that a server sends. */
export const MOST_BYTES = 64 * 1024 * 1024;

const PREFIX = 4;

export const frame = (text) => {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(PREFIX + length);
  bytes.writeUInt32BE(length, 0);
  bytes.write(text, PREFIX);
  return bytes;
};

/** Cuts a stream into texts. A length is checked before anything is kept for it. */
export class FrameReader {
  #chunks = [];
  #have = 0;
  #want = PREFIX;
  #inText = false;
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** The texts that are whole with these bytes. */
  *push(chunk) {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    while (this.#have >= this.#want) {
      const bytes = this.#take(this.#want);
      if (!this.#inText) {
        const length = bytes.readUInt32BE(0);
        if (length === 0 || length > MOST_BYTES) throw new ProtocolError(`a frame of ${length} bytes, the limit is ${MOST_BYTES}`);
        this.#want = length;
        this.#inText = true;
        continue;
      }
      this.#want = PREFIX;
      this.#inText = false;
      let text;
      try {
        text = this.#decoder.decode(bytes);
      } catch {
        throw new ProtocolError('the text of a frame is not UTF-8');
      }
      yield text;
    }
  }

  #take(length) {
    if (this.#chunks[0].length < length) this.#chunks = [Buffer.concat(this.#chunks)];
    const [first] = this.#chunks;
    this.#have -= length;
    if (first.length === length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(length);
    return first.subarray(0, length);
  }
}
