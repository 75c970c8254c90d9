// Frames as synchronous loops: 4 bytes of length, big-endian, then UTF-8 JSON. A read of exactly one byte is the gate's alone (the native side acts on
// it), so no other read ever asks for one byte.

const BRIDGE = 3;
const SMALL = 64 * 1024;

export const makeFrames = (take) => {
  const { read, writeBuffer, allocate, clear, byteLength, utf8Slice, utf8Write, copy, setBytes, part } = take;
  const one = allocate(1);
  const input = allocate(SMALL);
  const output = allocate(SMALL);
  // Pages are touched here and not first in a fork.
  clear(input, 0);
  clear(output, 0);
  let start = 0;
  let end = 0;

  /** Bytes got, or 0 at the end. A descriptor that should be blocking and is not is asked again. */
  const readSome = (bytes, at, length) => {
    for (;;) {
      try {
        return read(BRIDGE, bytes, at, length, -1);
      } catch (error) {
        if (error.code !== 'EAGAIN' && error.code !== 'EINTR') return 0;
      }
    }
  };

  const writeAll = (fd, bytes, length) => {
    for (let at = 0; at < length; ) {
      const context = { __proto__: null, errno: undefined, code: undefined };
      const wrote = writeBuffer(fd, bytes, at, length - at, null, undefined, context);
      if (context.errno === undefined) at += wrote;
      else if (context.code !== 'EAGAIN' && context.code !== 'EINTR') return false;
    }
    return true;
  };

  /** Waits at the gate: the first byte of a conversation. */
  const gate = () => {
    start = 0;
    end = 0;
    while (readSome(one, 0, 1) !== 1);
    return one[0];
  };

  /** The run has been answered, or the other end is gone: the native side ends the process in one of these reads. */
  const park = () => {
    for (;;) readSome(one, 0, 1);
  };

  const fill = (least) => {
    while (end - start < least) {
      if (start > 0) {
        copy(input, 0, start, end);
        end -= start;
        start = 0;
      }
      const got = readSome(input, end, SMALL - end);
      if (got === 0) park();
      end += got;
    }
  };

  /** A frame longer than the standing buffer gets one of its own, with room behind it so that the last read asks for more than one byte. */
  const receiveLong = (length) => {
    const spare = 16;
    const bytes = allocate(length + spare);
    let have = end - start;
    setBytes(bytes, part(input, start, end), 0);
    start = 0;
    end = 0;
    while (have < length) {
      const got = readSome(bytes, have, length + spare - have);
      if (got === 0) park();
      have += got;
    }
    if (have > length) {
      setBytes(input, part(bytes, length, have), 0);
      end = have - length;
    }
    return utf8Slice(bytes, 0, length);
  };

  const receive = () => {
    fill(4);
    const length = input[start] * 16777216 + (input[start + 1] << 16) + (input[start + 2] << 8) + input[start + 3];
    start += 4;
    if (length === 0) throw new RangeError('an empty frame');
    if (length > SMALL - 4) return receiveLong(length);
    fill(length);
    const text = utf8Slice(input, start, start + length);
    start += length;
    return text;
  };

  const send = (text) => {
    // Three bytes a unit is the most UTF-8 takes.
    const fits = text.length * 3 + 4 <= SMALL;
    const size = fits ? SMALL : byteLength(text) + 4;
    const bytes = fits ? output : allocate(size);
    const length = utf8Write(bytes, text, 4, size - 4);
    bytes[0] = length >>> 24;
    bytes[1] = length >>> 16;
    bytes[2] = length >>> 8;
    bytes[3] = length;
    return writeAll(BRIDGE, bytes, length + 4);
  };

  /** One datagram on another descriptor: the report. */
  const tell = (fd, text) => {
    const length = utf8Write(output, text, 0, SMALL);
    return writeAll(fd, output, length);
  };

  return { gate, park, receive, send, tell, bytes: (text) => byteLength(text) };
};
