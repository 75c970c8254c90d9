// Places inside a value that is being encoded.
import { setPrototypeOf, stringIndexOf } from './primordials.js';
import { quote } from './text.js';

// Where the writer stands: a chain up to the root. A class with fields, because fields are defined and not assigned (a body may put setters on
// `Object.prototype`), and because a null-prototype literal would be a slow dictionary.
export class Place {
  value = null;
  key;
  up;
  depth;
  /** `levels`: how many the JSON text opens between the two, more than one where a mark stands in between. */
  constructor(key, up, levels = 1) {
    this.key = key;
    this.up = up;
    this.depth = up === null ? 0 : up.depth + levels;
  }
}
setPrototypeOf(Place.prototype, null);

const isIdentifier = (text) => {
  if (text.length === 0) return false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c === '_' || c === '$';
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
};

/** As a body would write it: `args.a[0]`. */
export const pathOf = (at, root) => {
  let text = '';
  for (let p = at; p !== null && p.up !== null; p = p.up) {
    text = (typeof p.key === 'number' ? `[${p.key}]` : isIdentifier(p.key) ? `.${p.key}` : `[${quote(p.key)}]`) + text;
  }
  return root + text;
};

/** As a marked value tells it: `/a/0`, and `/` for the root. */
export const pointerOf = (at) => {
  let text = '';
  for (let p = at; p !== null && p.up !== null; p = p.up) {
    let key = `${p.key}`;
    if (stringIndexOf(key, '~') >= 0 || stringIndexOf(key, '/') >= 0) {
      let escaped = '';
      for (let i = 0; i < key.length; i++) escaped += key[i] === '~' ? '~0' : key[i] === '/' ? '~1' : key[i];
      key = escaped;
    }
    text = '/' + key + text;
  }
  return text === '' ? '/' : text;
};
