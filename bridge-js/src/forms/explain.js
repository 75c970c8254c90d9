// What to say of a text that does not parse. Runs only then, so it may read the text once more: the tokens up to the place of the error tell which
// brackets are open and what stands before it.
import { Parser } from 'acorn';
import { OPTIONS, PREFIX, SUFFIX } from './parse.js';
import { placeAt } from './lines.js';
import { hashAt, jsxAt, namedCharacter, slipAt } from './slips.js';

const CLOSES = { ')': '(', ']': '[', '}': '{' };

/** Words behind which no value has ended. */
const NOT_VALUES = new Set(
  'return await yield typeof void delete in of instanceof new throw case else do if for while let const var function async class extends default'.split(' '),
);

/** Tokens as `{text, start, kind}` up to the error, positions of the text. */
const tokensOf = (text, read) => {
  const found = [];
  try {
    read((token) => found.push(token));
  } catch {
    // Where it stopped is known already.
  }
  return found.map(({ type, start, end }) => ({ text: text.slice(start, end), start, kind: type.label }));
};

const plainTokens = (text) =>
  tokensOf(PREFIX + text + SUFFIX, (onToken) => Parser.parse(PREFIX + text + SUFFIX, { ...OPTIONS, onToken }))
    .map((token) => ({ ...token, start: token.start - PREFIX.length }))
    .filter((token) => token.start >= 0);

const openBrackets = (tokens) => {
  const open = [];
  for (const token of tokens) {
    if (token.kind === 'template' || token.kind === 'string' || token.kind === 'regexp') continue;
    if (token.text === '(' || token.text === '[' || token.text === '{' || token.text === '${') open.push(token);
    else if (CLOSES[token.text] !== undefined && open.length > 0) open.pop();
  }
  return open;
};

/** What stands at the place, in quotes. */
const shown = (text, pos) => {
  const [word] = /^(?:[\w$]+|"[^"\n]{0,30}"?|'[^'\n]{0,30}'?|=>|\.\.\.|[^\s])/u.exec(text.slice(pos, pos + 40)) ?? [''];
  return word === '' ? '' : `'${word.slice(0, 40)}'`;
};

const endsValue = (token) => (/^(?:name|num|string|regexp|`)$/.test(token.kind) && !NOT_VALUES.has(token.text)) || /^(?:[)\]}]|this|null|true|false|super)$/.test(token.text);

/** The parser's words where they are its own jargon. */
const clearer = (message) =>
  message
    .replace(/^Unsyntactic (break|continue)$/, '$1 stands outside of a loop')
    .replace(/^'import' and 'export' may appear.*/, 'Unexpected token')
    .replace(/^Assigning to rvalue$/, 'the left side of an assignment must be a variable or a property');

const ESCAPED = 'a backslash stands outside of a string: the text was escaped once too often; send line breaks and quotes as they are';
const NOT_ASYNC = 'await stands in a function that is not async; write `async` before that function';
const NO_JSX = 'this looks like JSX, there is none here: give text or data';

const isLoose = (message) => /^(?:Unexpected token|Unexpected keyword|Unexpected identifier|Unexpected character)/.test(message);

const placed = (text, token) => `'${token.text}' of line ${placeAt(text, token.start).line}`;

/**
 * `{message, pos, brief}`: more than the parser's own words, where more is known; `brief` says where it stopped and no more. `text` has the caller's positions; `typed` reads it with types, and is given
 * where that reading came furthest.
 */
export const explainSyntax = (text, told, pos, typed) => {
  const markup = jsxAt(text, pos);
  if (markup >= 0) return { message: `Unexpected token '<': ${NO_JSX}`, pos: markup };
  const backslash = text[pos] === '\\' ? pos : text[pos - 1] === '\\' ? pos - 1 : -1;
  if (backslash >= 0 && /^Expecting Unicode escape sequence|^Unexpected/.test(told)) return { message: `Unexpected character '\\': ${ESCAPED}`, pos: backslash };
  const hash = hashAt(text, pos);
  if (hash >= 0) return { message: "Unexpected character '#': a comment begins with `//`, not with #", pos: hash, brief: "Unexpected character '#'" };
  const message = clearer(told).replace(/^Unexpected character '.*'$/s, (whole) => (namedCharacter(text, pos) === '' ? whole : `Unexpected character ${namedCharacter(text, pos)}`));
  const meant = quotesOf(text, pos);
  if (meant !== '') return { message: `${message}; ${meant}`, pos };
  const unfinished = /^Unterminated (template|string|comment|regular)/.exec(message);
  if (unfinished?.[1] === 'template') return { message: `${message}: a backtick is never closed`, pos: Math.max(0, text.lastIndexOf('`', pos)) };
  if (unfinished !== null) return { message, pos };
  const end = text.trimEnd().length;
  if (!isLoose(message) && pos < end) return { message, pos };
  const tokens = (typed === undefined ? plainTokens(text) : tokensOf(text, typed)).filter((token) => token.start < pos);
  const open = openBrackets(tokens).pop();
  if (pos >= end) {
    const last = tokens[tokens.length - 1];
    if (open !== undefined) return { message: `Unexpected end of the body: ${placed(text, open)} is never closed`, pos: end };
    return { message: last === undefined ? 'Unexpected end of the body' : `Unexpected end of the body: something is missing behind ${shown(text, last.start)}`, pos: end };
  }
  const before = tokens[tokens.length - 1];
  const here = shown(text, pos);
  const what = /^Unexpected token$/.test(message) && here !== '' ? `Unexpected token ${here}` : message;
  const slip = slipAt(text, pos, tokens, open);
  if (slip !== '') return { message: `${what}: ${slip}`, pos, brief: what };
  if (before?.text === 'for' && text.startsWith('await', pos)) return { message: `${what}: ${NOT_ASYNC}`, pos, brief: what };
  if (before?.text === 'await' && /^[\w$"'`[({!]/.test(text.slice(pos))) {
    return { message: `${what}: ${NOT_ASYNC}`, pos, brief: what };
  }
  const closer = text[pos];
  if (CLOSES[closer] !== undefined && open !== undefined && CLOSES[closer] !== open.text.slice(-1)) {
    return { message: `${what}: ${placed(text, open)} must be closed first`, pos, brief: what };
  }
  if (CLOSES[closer] !== undefined && open === undefined) return { message: `${what}: nothing is open that it could close`, pos, brief: what };
  if (closer === ';' && open !== undefined && open.text !== '{') return { message: `${what}: ${placed(text, open)} is not closed yet`, pos, brief: what };
  if (before !== undefined && endsValue(before) && /^[\w$"'`[({]/.test(text.slice(pos))) {
    const comma = open === undefined ? 'an operator or a semicolon' : 'a comma, an operator or a closing bracket';
    return { message: `${what}: ${comma} is missing between ${shown(text, before.start)} and it`, pos, brief: what };
  }
  return { message: what, pos, brief: what };
};

/** Marks that word processors put in. */
const quotesOf = (text, pos) => {
  const c = text[pos];
  if (c === undefined) return '';
  if ('“”„«»'.includes(c)) return 'use the plain quote "';
  if ('‘’‚'.includes(c)) return "use the plain quote '";
  if ('–—−'.includes(c)) return 'use the plain minus -';
  if (namedCharacter(text, pos) !== '' && !/\s/.test(c)) return 'there is an invisible character; delete it';
  return '';
};
