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

/** `text` with everything from `start` to `end` turned into spaces; line ends stay, so that every other position stays too. */
export const blank = (text, start, end) => text.slice(0, start) + text.slice(start, end).replace(/[^\r\n\u2028\u2029]/g, ' ') + text.slice(end);
