// Promises that a body takes for their values, found in its text: calls of openclaw.tools, and of async functions of its own.
import { charCodeAt, regexpExec, stringIndexOf, stringSlice } from './primordials.js';

const API_TEXT = 'openclaw.tools.';

/** How many calls of one kind are looked at, and how much before and in each. */
const MAX_LOOKS = 64;
const LOOK_BACK = 80;
const LOOK_INSIDE = 2000;
const MAX_HELPERS = 16;

/** Position behind the bracket that closes the one at `at`, or -1. Strings are skipped; more is not needed for advice. */
const behindBracket = (source, at) => {
  const end = at + LOOK_INSIDE < source.length ? at + LOOK_INSIDE : source.length;
  let depth = 0;
  let quote = 0;
  for (let i = at; i < end; i++) {
    const unit = charCodeAt(source, i);
    if (unit === 92) i++;
    else if (quote !== 0) quote = unit === quote ? 0 : quote;
    else if (unit === 34 || unit === 39 || unit === 96) quote = unit;
    else if (unit === 40 || unit === 91 || unit === 123) depth++;
    else if ((unit === 41 || unit === 93 || unit === 125) && --depth === 0) return i + 1;
  }
  return -1;
};

/** True where a property of the promise itself is read, other than its own three. */
const isChained = (source, open) => {
  const end = behindBracket(source, open);
  if (end < 0) return false;
  const after = stringSlice(source, end, end + LOOK_BACK);
  return regexpExec(/^(?:\s*(?:\?\.|\.)\s*(?!then\b|catch\b|finally\b)[\w$]|(?:\?\.)?\[)/, after) !== null;
};

/** How a call is used whose callee begins at `at` and whose bracket opens at `open`: 'chained', the name it is given, '' for a loop or pattern, or null. */
const useOf = (source, at, open) => {
  if (isChained(source, open)) return 'chained';
  const before = regexpExec(/(?:([\w$]+|\}|\])\s*(?::[^=\n]*)?[^=!<>]?=|\bof|\bin|\.\.\.)\s*$/, stringSlice(source, at > LOOK_BACK ? at - LOOK_BACK : 0, at));
  if (before === null) return null;
  return before[1] === undefined || before[1] === '}' || before[1] === ']' ? '' : before[1];
};

/** True when `name` stands in the text as a word of its own. */
const hasWord = (text, name) => {
  for (let at = stringIndexOf(text, name); at >= 0; at = stringIndexOf(text, name, at + name.length)) {
    if (regexpExec(/^[^\w$]?$/, stringSlice(text, at - 1, at)) !== null && regexpExec(/^[^\w$]?$/, stringSlice(text, at + name.length, at + name.length + 1)) !== null) return true;
  }
  return false;
};

/** True for a name that is awaited somewhere, listened to, or handed to one of Promise's own. */
const isUsedAsPromise = (name, source) => {
  if (stringIndexOf(source, `await ${name}`) >= 0 || stringIndexOf(source, `${name}.then(`) >= 0) return true;
  const together = /\bPromise\s*\.\s*(?:all|allSettled|any|race)\s*(?=\()/g;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const found = regexpExec(together, source);
    if (found === null) return false;
    const open = found.index + found[0].length;
    const end = behindBracket(source, open);
    if (hasWord(stringSlice(source, open, end < 0 ? open + LOOK_INSIDE : end), name)) return true;
  }
  return false;
};

/** The method of the first call of openclaw.tools whose promise is plainly taken for its value, as `{method, chained}`, or null. */
const apiCall = (source) => {
  let at = stringIndexOf(source, API_TEXT);
  for (let looks = 0; at >= 0 && looks < MAX_LOOKS; looks++) {
    const after = regexpExec(/^(search|describe|call)\(/, stringSlice(source, at + API_TEXT.length, at + API_TEXT.length + 9));
    if (after !== null) {
      const use = useOf(source, at, at + API_TEXT.length + after[1].length);
      if (use !== null && (use === 'chained' || use === '' || !isUsedAsPromise(use, source))) return { __proto__: null, method: after[1], chained: use === 'chained' };
    }
    at = stringIndexOf(source, API_TEXT, at + API_TEXT.length);
  }
  return null;
};

/** The name of an async function of the body whose promise is plainly taken for its value, or ''. */
const helperCall = (source) => {
  const declared = /\basync\s+function\s+([\w$]+)|\b(?:const|let|var)\s+([\w$]+)\s*(?::[^=\n]*)?=\s*async\b/g;
  for (let i = 0; i < MAX_HELPERS; i++) {
    const found = regexpExec(declared, source);
    if (found === null) return '';
    const name = found[1] ?? found[2];
    let at = stringIndexOf(source, `${name}(`);
    for (let looks = 0; at >= 0 && looks < MAX_LOOKS; looks++) {
      const before = stringSlice(source, at > LOOK_BACK ? at - LOOK_BACK : 0, at);
      if (regexpExec(/(?:[\w$.]|\bfunction\s+)$/, before) === null) {
        const use = useOf(source, at, at + name.length);
        if (use !== null && (use === 'chained' || use === '' || !isUsedAsPromise(use, source))) return name;
      }
      at = stringIndexOf(source, `${name}(`, at + name.length);
    }
  }
  return '';
};

const IN_PARENTHESES = {
  __proto__: null,
  search: '`(await openclaw.tools.search(query))[0]`',
  describe: '`(await openclaw.tools.describe(id)).parameters`',
  call: '`(await openclaw.tools.call(id, args)).name`',
};

const AWAITED = {
  __proto__: null,
  search: '`await openclaw.tools.search(query)`',
  describe: '`await openclaw.tools.describe(id)`',
  call: '`await openclaw.tools.call(id, args)`',
};

export const chainedAdvice = (method) => `a property of the promise of openclaw.tools.${method} is read, not of its value; put await and call into parentheses: ${IN_PARENTHESES[method]}`;

/** One clause, or ''. */
export const unawaited = (source) => {
  const found = apiCall(source);
  if (found !== null) {
    return found.chained ? chainedAdvice(found.method) : `openclaw.tools.${found.method} gives a promise, and one in this body is not awaited: ${AWAITED[found.method]}`;
  }
  const helper = helperCall(source);
  return helper === '' ? '' : `${helper} is an async function, and a promise of it is not awaited: write await before the call, and both in parentheses where a property follows`;
};
