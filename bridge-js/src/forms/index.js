// From the text a caller sent to the text V8 compiles, with a map back. A body that parses as it stands is compiled as it stands, inside
// `(async()=>{` ... `})`; what is put in is only a `return` for the value of a last expression or the call of a lone function.
import { EXPORTS, MODULES, ONLY_CODE, adviceForText, isOtherLanguage } from './advice.js';
import { explainSyntax } from './explain.js';
import { countFences, removeFence } from './fence.js';
import { blank, placeAt } from './lines.js';
import { PREFIX, SUFFIX, parse } from './parse.js';
import { bareThrow, countUses, hasFenceTemplate, returnsAtTop, topLevelThis } from './tree.js';
import { Unsupported, eraseTypes, parseTypeScript } from './typescript.js';

/** Stands for the body's own `this`, which is undefined: a parameter nobody passes. As long as `this`, and no name a person would write. */
const THIS = '\uff54\uff48\uff49\uff53';

const failure = (text, code, message, offset, name = 'SyntaxError') => ({ ok: false, error: { code, name, message, ...placeAt(text, offset) } });

const invalid = (message) => ({ ok: false, error: { code: 'invalid_body', name: 'InvalidBody', message } });

/** `{ok: true, code, inserts}` or `{ok: false, error: {code, name, message, line?, column?}}`. */
export const prepare = (text) => {
  if (/^[\uFEFF\s]*$/.test(text)) return invalid('the body is empty; send JavaScript that returns a value');
  const fence = removeFence(text);
  if (fence.several) return invalid(SEVERAL);
  if (fence.outside) return failure(text, 'syntax_error', AROUND, fence.at);
  if (fence.language !== undefined) return failure(text, 'syntax_error', `the fenced block is marked ${fence.language}; ${ONLY_CODE}`, fence.at);
  const plain = removeShebang(fence.text);
  if (/^[\uFEFF\s]*$/.test(plain)) return invalid('the body is empty: the fence has nothing in it');
  try {
    const source = read(plain);
    if (plain.includes('```') && hasFenceTemplate(source.block)) throw fencedText(plain);
    return wrap(text, source);
  } catch (error) {
    return explain(text, fence.text !== text, plain, error);
  }
};

/** Prose around fenced code can be valid JavaScript: a label and some templates. */
const fencedText = (plain) => Object.assign(new SyntaxError('this is Markdown, not JavaScript; send the code alone'), { pos: Math.max(0, plain.search(/\S/)) });

const removeShebang = (text) => {
  const match = /^[\uFEFF\s]*#!/.exec(text);
  if (match === null || /\b(?:sh|bash|zsh|python3?)\b/.test(text.slice(0, 80).split('\n', 1)[0])) return text;
  const end = text.indexOf('\n', match[0].length);
  return blank(text, 0, end < 0 ? text.length : end);
};

/** `{text, tree, shift, inserts, defaultExport}`: `shift` units of `text` stand before the caller's first. Throws what the best reading threw. */
const read = (plain) => {
  let first;
  try {
    return { text: plain, ...parse(plain), shift: 0, inserts: [], defaultExport: null };
  } catch (error) {
    first = error;
  }
  // A function without a name is an expression; as a statement it does not parse.
  const nameless = /^[\uFEFF\s]*(?:async\s+)?function\s*\*?\s*[(<]/.test(plain);
  const text = nameless ? `(${plain.replace(/;\s*$/, (end) => ' '.repeat(end.length))}\n)` : plain;
  const shift = nameless ? 1 : 0;
  if (nameless) {
    try {
      return { text, ...parse(text), shift, inserts: [], defaultExport: null };
    } catch (error) {
      first = further(first, error, shift);
    }
  }
  return readTypeScript(text, shift, first);
};

const readTypeScript = (text, shift, first) => {
  let erased;
  try {
    erased = eraseTypes(text, parseTypeScript(text));
  } catch (error) {
    throw further(first, error, shift);
  }
  try {
    return { text: erased.text, ...parse(erased.text), shift, inserts: erased.inserts, defaultExport: erased.defaultExport };
  } catch (error) {
    throw further(first, error, shift);
  }
};

/** The error that got further into the text says more. */
const further = (first, second, shift) => {
  if (second instanceof RangeError) return second;
  if (typeof second.pos !== 'number') return first;
  second.pos -= shift;
  if (!(second instanceof Unsupported) && second.pos <= first.pos) return first;
  second.isTyped = true;
  return second;
};

const AROUND = 'the body is a text around a fenced block; send only the code that is inside the fence';
const SEVERAL = 'the body holds several fenced blocks; send one block, or the code alone';

const explain = (text, fenced, plain, error) => {
  const tooDeep = error instanceof RangeError || /^Not enough stack space/.test(error.message);
  if (tooDeep) return failure(text, 'syntax_error', 'the body is nested too deeply to be read', 0);
  if (typeof error.pos !== 'number') throw error;
  // A fence that was removed stood around the whole; others are of Markdown, if it is not a template that holds them.
  if (!fenced && countFences(text) > 3) return invalid(SEVERAL);
  if (!fenced && countFences(text) > 1) return failure(text, 'syntax_error', AROUND, Math.max(0, text.search(/[^\uFEFF\s]/)));
  const message = error.message.replace(/ \(\d+:\d+\)$/, '');
  if (error instanceof Unsupported) return failure(text, 'syntax_error', message, error.pos);
  if (/^'import' and 'export' may appear|^Cannot use 'import.meta'/.test(message) && !isOtherLanguage(plain)) {
    return failure(text, 'syntax_error', text.startsWith('export', error.pos) ? EXPORTS : MODULES, error.pos);
  }
  const typed = error.isTyped === true ? (onToken) => parseTypeScript(plain, onToken) : undefined;
  const { message: what, pos, brief = what } = explainSyntax(plain, message, error.pos, typed);
  const advice = adviceForText(plain);
  return failure(text, 'syntax_error', advice === '' ? what : `${brief}; ${advice}`, pos);
};

/** Puts `return` before the value and the wrapper around the whole. */
const wrap = (original, source) => {
  const { block, imports } = source;
  // From a position in the parsed wrapper to one in the caller's text.
  const back = PREFIX.length + source.shift;
  if (imports.length > 0) return failure(original, 'syntax_error', MODULES, imports[0] - back);
  let text = PREFIX + source.text;
  const own = source.text.includes('this') ? topLevelThis(block) : [];
  for (const at of own) text = text.slice(0, at) + THIS + text.slice(at + 4);
  if (own.length > 0) text = `(async(${THIS})=>{${text.slice(PREFIX.length)}`;
  const grown = own.length > 0 ? THIS.length : 0;

  const erased = source.inserts.map(([at, put]) => [at + PREFIX.length, put]);
  const puts = [...erased, ...valueInserts(PREFIX + source.text, block, source.defaultExport)].sort((a, b) => a[0] - b[0]);
  const inserts = [0, back + grown];
  let code = '';
  let done = 0;
  for (const [at, put] of puts) {
    code += text.slice(done, at + grown) + put;
    done = at + grown;
    inserts.push(Math.max(0, at - back), put.length);
  }
  code += text.slice(done) + SUFFIX;
  const thrown = source.text.includes('throw') ? bareThrow(block) : -1;
  return { ok: true, code, inserts, throwAt: thrown < 0 ? -1 : thrown - back };
};

const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** What to insert so that the run has a value: `[position, text]` pairs. */
const valueInserts = (text, block, defaultExport) => {
  const end = text.length;
  if (defaultExport !== null) return [[end, `\n;return typeof ${defaultExport}==="function"?${defaultExport}():${defaultExport}`]];
  const statements = block.body.filter((node) => node.type !== 'EmptyStatement');
  const only = statements.length === 1 ? statements[0] : null;
  if (only?.type === 'FunctionDeclaration') return [[end, `\n;return ${only.id.name}()`]];
  const last = statements.findLast((node) => node.type !== 'FunctionDeclaration');
  if (last?.type === 'ExpressionStatement' && last.directive !== 'use strict') {
    const stop = text[last.end - 1] === ';' ? last.end - 1 : last.end;
    return [
      [last.start, 'return ('],
      [stop, only !== null && isFunction(only.expression) ? ')()' : ')'],
    ];
  }
  const entry = ['main', 'run'].find((name) => isLoneEntry(block, statements, name));
  return entry === undefined ? [] : [[end, `\n;return ${entry}()`]];
};

/** True for a function of that name at the top which nothing uses, in a body that returns nothing. */
const isLoneEntry = (block, statements, name) => {
  const declared = statements.some(
    (node) =>
      (node.type === 'FunctionDeclaration' && node.id.name === name) ||
      (node.type === 'VariableDeclaration' && node.declarations.some((d) => d.id.name === name && isFunction(d.init))),
  );
  return declared && !returnsAtTop(block) && countUses(block, name) === 1;
};
