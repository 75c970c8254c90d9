// JSON in bounds: values on their way to the server that its reader takes, or an error that says why not; and how deep a text of the server's is.
import { CodemodeError } from './errors.js';

/** Levels of arrays and objects in each other that a frame may have, the envelope's with them: protocol/docs/wire.md. */
export const MOST_DEPTH = 128;

const HALF_SURROGATE = /\\ud[89a-f]/i;

/**
 * The JSON text of a value that lies `around` levels deep in its frame. Half surrogates become U+FFFD, as in the body's own values.
 * @throws CodemodeError with code `invalid_result`
 */
export const jsonOf = (value, around) => {
  let text;
  try {
    text = JSON.stringify(value) ?? 'null';
  } catch (cause) {
    throw new CodemodeError('invalid_result', `the value has no JSON: ${cause?.message ?? cause}`, { cause });
  }
  if (HALF_SURROGATE.test(text)) text = JSON.stringify(wellFormed(JSON.parse(text)));
  const levels = depth(text) + around;
  if (levels > MOST_DEPTH) throw new CodemodeError('invalid_result', `the value lies ${levels} levels deep, the limit is ${MOST_DEPTH}`);
  return text;
};

/** What JSON has parsed, so it has no getters, no cycles, and is no deeper than a stack bears. */
const wellFormed = (value) => {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== 'object') return value;
  const out = Object.create(null);
  for (const [key, inner] of Object.entries(value)) out[key.toWellFormed()] = wellFormed(inner);
  return out;
};

/** Whether a text, which may be no JSON at all, is deeper than a frame may be. */
export const isTooDeep = (text) => text.length > MOST_DEPTH && depth(text) > MOST_DEPTH;

const depth = (text) => {
  let now = 0;
  let most = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === 0x22) inString = !inString;
    else if (inString) at += sign === 0x5c ? 1 : 0;
    else if (sign === 0x7b || sign === 0x5b) {
      now += 1;
      if (now > most) most = now;
    } else if (sign === 0x7d || sign === 0x5d) now -= 1;
  }
  return most;
};
