// Slips that a text which does not parse shows at the place of the error: words of other languages, a backslash too many, an object where a block stands.

/** Words that are names in JavaScript, and what they mean elsewhere. */
const ELSEWHERE = {
  __proto__: null,
  and: 'JavaScript has `&&` for and',
  or: 'JavaScript has `||` for or',
  not: 'JavaScript has `!` for not',
  is: 'JavaScript has `===` for is',
  elif: 'JavaScript has `else if` for elif',
  elsif: 'JavaScript has `else if` for elsif',
  foreach: 'JavaScript has `for (const value of list)` for foreach',
  lambda: 'JavaScript writes a lambda as `(value) => value`',
  pass: 'JavaScript has `{}` for pass',
  except: 'JavaScript has `catch (error)` for except',
  raise: 'JavaScript has `throw new Error(message)` for raise',
  def: 'JavaScript has `function` for def',
  func: 'JavaScript has `function` for func',
  fn: 'JavaScript has `function` for fn',
  local: 'JavaScript has `const` and `let`',
  unless: 'JavaScript has `if (!value)` for unless',
};

const QUOTE = /["'`]/;

/** Letters in front of a quote that give a string another meaning in Python or C#. */
const PREFIXED = /^(?:[fFrRbBuU]{1,2}|\$)$/;

/** A control or an invisible character, in words. */
export const namedCharacter = (text, pos) => {
  const code = text.codePointAt(pos);
  const isSeen = code === undefined || (code > 0x20 && code < 0x7f) || /^[\p{L}\p{N}\p{P}\p{S}]/u.test(String.fromCodePoint(code));
  return isSeen ? '' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
};

/** Markup in code: an element where a value is expected. */
const JSX = /(?:^|[=(,?:&|>[{}]|\breturn)\s*<(?:>|([A-Za-z][\w.]*)(?:\s+[\w-]+(?:=(?:"[^"]*"|'[^']*'|\{[^}]*\}))?){0,40}\s*(\/?)>)/gm;

/** Position of an element of JSX (one that is closed again) before the place where reading stopped, or -1. */
export const jsxAt = (text, pos) => {
  if (!/<\/[A-Za-z>]|\/>/.test(text)) return -1;
  for (const { index, 0: whole, 1: name = '', 2: closed } of text.matchAll(JSX)) {
    const at = index + whole.indexOf('<');
    if (at > pos) return -1;
    if (closed === '/' || text.includes(`</${name}>`, at)) return at;
  }
  return -1;
};

const endsValue = (token) => /^(?:name|num|string|regexp|`)$/.test(token.kind) || /^[)\]}]$/.test(token.text);

/** The token before the bracket that the last token closes. */
const beforeBracket = (tokens) => {
  let depth = 0;
  for (let i = tokens.length - 1; i > 0; i--) {
    if (tokens[i].text === ')') depth++;
    else if (tokens[i].text === '(' && --depth === 0) return tokens[i - 1];
  }
  return undefined;
};

/** What a word of another language means, where the text stopped at it or behind it. */
const elsewhere = (text, pos, tokens) => {
  const before = tokens[tokens.length - 1];
  const led = before.text === ')' ? beforeBracket(tokens) : before;
  if (led?.kind === 'name' && ELSEWHERE[led.text] !== undefined) return ELSEWHERE[led.text];
  const [word] = /^\w*/.exec(text.slice(pos, pos + 12));
  return endsValue(before) ? (ELSEWHERE[word] ?? '') : '';
};

/** Position of a `#` that begins a line and is meant to begin a comment, where reading stopped at it, or -1. */
export const hashAt = (text, pos) => {
  const at = text[pos] === '#' ? pos : pos - 1;
  return text[at] === '#' && !/\S/.test(text.slice(text.lastIndexOf('\n', at) + 1, at)) ? at : -1;
};

/** One clause for the place `pos`, or ''. `tokens` are those before it, `open` is the bracket that is open there. */
export const slipAt = (text, pos, tokens, open) => {
  const before = tokens[tokens.length - 1];
  if (before === undefined) return '';
  if (before.kind === 'string' && before.start + before.text.length === pos && /\w/.test(text[pos])) {
    return `the string ended at the quote before it; write \\${before.text[0]} inside of it, or put it into other quotes`;
  }
  if (text[pos] === ':' && open?.text === '{' && tokens[tokens.indexOf(open) - 1]?.text === '=>') {
    return 'an arrow function that gives an object needs parentheses around it: `(value) => ({ a: value })`';
  }
  if (QUOTE.test(text[pos]) && PREFIXED.test(before.text) && before.start + before.text.length === pos) {
    return 'a string has no letter in front here; with values in it: `` `text ${value}` ``';
  }
  if (/^(?:;|,|\n|$)/.test(text.slice(pos, pos + 1)) && tokens[tokens.length - 2]?.text === 'const') return `a const needs a value: \`const ${before.text} = value\``;
  return elsewhere(text, pos, tokens);
};
