// Lines and columns of the caller's own text.

/** Line and column, from 1, of `offset`. Lines end where editors end them: at \n, \r\n and \r, not at U+2028. A byte-order mark is no column. */
export const placeAt = (text, offset) => {
  let line = 1;
  let start = 0;
  const end = Math.min(offset, text.length);
  for (let i = 0; i < end; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 10 || (unit === 13 && text.charCodeAt(i + 1) !== 10)) {
      line++;
      start = i + 1;
    }
  }
  if (line === 1 && end > 0 && text.charCodeAt(0) === 0xfeff) start = 1;
  return { line, column: end - start + 1 };
};

/** Position in the caller's text of a position in the compiled text; `inserts` is a flat list of pairs (position in the caller's text, units put in). */
export const originalOffset = (position, inserts) => {
  let shift = 0;
  for (let i = 0; i < inserts.length; i += 2) {
    if (position < inserts[i] + shift + inserts[i + 1]) return Math.min(position, inserts[i] + shift) - shift;
    shift += inserts[i + 1];
  }
  return position - shift;
};

/** Position of a line and column (from 1 and from 0) as V8 counts lines. */
export const offsetOf = (text, line, column) => {
  const ends = /\r\n|[\n\r\u2028\u2029]/g;
  for (let i = 1; i < line; i++) if (!ends.exec(text)) return text.length;
  return ends.lastIndex + column;
};

/** `text` with everything from `start` to `end` turned into spaces; line ends stay, so that every other position stays too. */
export const blank = (text, start, end) => text.slice(0, start) + text.slice(start, end).replace(/[^\r\n\u2028\u2029]/g, ' ') + text.slice(end);
