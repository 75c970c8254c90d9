// From the text a caller sent to the text V8 compiles, with a map back. A body that parses as it stands is compiled as it stands, inside
// `(async()=>{` ... `})`; what is put in is only a `return` for the value of a last expression or the call of a lone function.
import { EXPORTS, MODULES, ONLY_CODE, adviceForText, isOtherLanguage } from './advice.js';
import { explainSyntax } from './explain.js';
import { countFences, removeFence, withoutFences, withoutLastFence } from './fence.js';
import { holdsTypeArguments } from './generics.js';
import { adviceForIdle } from './idle.js';
import { blank, placeAt } from './lines.js';
import { PREFIX, SUFFIX, parse } from './parse.js';
import { bareThrow, countUses, hasFenceTemplate, isFunction, isInTemplate, returnsAtTop, topLevelThis } from './tree.js';
import { Unsupported, eraseTypes, parseTypeScript } from './typescript.js';

/** Stands for the body's own `this`, which is undefined: a parameter nobody passes. As long as `this`, and no name a person would write. */
const THIS = '\uff54\uff48\uff49\uff53';

const failure = (text, code, message, offset, name = 'SyntaxError') => ({ ok: false, error: { code, name, message, ...placeAt(text, offset) } });

const invalid = (message) => ({ ok: false, error: { code: 'invalid_body', name: 'InvalidBody', message } });

/**
 * `{ok: true, code, inserts, throwAt, idle, parameters}` or `{ok: false, error: {code, name, message, line?, column?}}`. `idle`: what to say should the body end without a
 * value; `parameters`: names of those that a function which is called for the body will not get.
 */
export const prepare = (text) => {
  if (/^[\uFEFF\s]*$/.test(text)) return invalid('the body is empty; send JavaScript that returns a value');
  const fence = removeFence(text);
  if (fence.several) return invalid(holdsFences(text) ? IN_TEMPLATE : SEVERAL);
  if (fence.outside) return failure(text, 'syntax_error', holdsFences(text) ? IN_TEMPLATE : AROUND, fence.at);
  if (fence.language !== undefined) return failure(text, 'syntax_error', `the fenced block is marked ${fence.language}; ${ONLY_CODE}`, fence.at);
  const plain = removeShebang(fence.text);
  if (/^[\uFEFF\s]*$/.test(plain)) return invalid('the body is empty: the fence has nothing in it');
  const fenced = fence.text !== text;
  const ready = readAndWrap(text, plain, fenced);
  const rest = ready.ok || fenced ? null : withoutLastFence(plain);
  return rest === null ? ready : readAndWrap(text, rest, true);
};

const readAndWrap = (text, plain, fenced) => {
  try {
    const source = read(plain);
    if (plain.includes('```') && hasFenceTemplate(source.block)) throw fencedText(plain);
    return wrap(text, source);
  } catch (error) {
    return explain(text, fenced, plain, error);
  }
};

/** True for code that holds fences in a template literal, which their backticks end. */
const holdsFences = (text) => {
  const { text: rest, marks } = withoutFences(text);
  try {
    const { block, shift } = read(rest);
    return marks.length > 0 && marks.every((at) => isInTemplate(block, at + PREFIX.length + shift));
  } catch {
    return false;
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
    const source = { text: plain, ...parse(plain), shift: 0, inserts: [], defaultExport: null };
    return holdsTypeArguments(plain, source.block) ? readTypeArguments(source) : source;
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

/** The other reading of a body that parses as it stands, where there is one. */
const readTypeArguments = (source) => {
  try {
    return readTypeScript(source.text, 0, null);
  } catch {
    return source;
  }
};

const readTypeScript = (text, shift, first) => {
  let erased;
  try {
    erased = eraseTypes(text, parseTypeScript(text));
  } catch (error) {
    throw further(first, error, shift);
  }
  try {
    return { text: erased.text, ...parse(erased.text), shift, inserts: erased.inserts, defaultExport: erased.defaultExport, isCalled: erased.isCalled };
  } catch (error) {
    throw further(first, error, shift);
  }
};

/** The error that got further into the text says more. */
const further = (first, second, shift) => {
  if (second instanceof RangeError || first === null) return second;
  if (typeof second.pos !== 'number') return first;
  second.pos -= shift;
  if (!(second instanceof Unsupported) && second.pos <= first.pos) return first;
  second.isTyped = true;
  return second;
};

const AROUND = 'the body is a text around a fenced block; send only the code that is inside the fence';
const SEVERAL = 'the body holds several fenced blocks; send one block, or the code alone';

const IN_TEMPLATE = 'a template literal holds ```, and the first backtick ends it; write each backtick in it as \\`, or put the text together from quoted strings';

const explain = (text, fenced, plain, error) => {
  const tooDeep = error instanceof RangeError || /^Not enough stack space/.test(error.message);
  if (tooDeep) return failure(text, 'syntax_error', 'the body is nested too deeply to be read', 0);
  if (typeof error.pos !== 'number') throw error;
  // A fence that was removed stood around the whole; others are of Markdown, if it is not a template that holds them.
  if (!fenced && countFences(text) > 0 && holdsFences(text)) return failure(text, 'syntax_error', IN_TEMPLATE, Math.max(0, text.indexOf('```')));
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
  const statements = block.body.filter((node) => node.type !== 'EmptyStatement');
  const value = valueOf(PREFIX + source.text, block, statements, source);
  const puts = [...erased, ...value.inserts].sort((a, b) => a[0] - b[0]);
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
  const idle = value.inserts.length > 0 ? '' : adviceForIdle(source.text, block, statements);
  return { ok: true, code, inserts, throwAt: thrown < 0 ? -1 : thrown - back, idle, parameters: parametersOf(value.called) };
};

/** Names of parameters; a pattern is `{`. */
const parametersOf = (called) => (called?.params ?? []).map((param) => (param.type === 'AssignmentPattern' ? param.left : param)).map((param) => (param.type === 'Identifier' ? param.name : '{'));

/** What to insert so that the run has a value, as `{inserts: [[position, text]], called}`; `called` is the function that is called for the body, if one is. */
const valueOf = (text, block, statements, source) => {
  const end = text.length;
  if (source.defaultExport !== null) {
    const name = source.defaultExport;
    return { inserts: [[end, source.isCalled ? `\n;return typeof ${name}==="function"?${name}():${name}` : `\n;return ${name}`]], called: functionNamed(statements, name) };
  }
  const only = statements.length === 1 ? statements[0] : null;
  const lone = only === null ? undefined : nameOfFunction(only);
  if (lone !== undefined) return { inserts: [[end, `\n;return ${lone}()`]], called: functionNamed(statements, lone) };
  const last = statements.findLast((node) => node.type !== 'FunctionDeclaration');
  if (last?.type === 'ExpressionStatement' && last.directive !== 'use strict') {
    const stop = text[last.end - 1] === ';' ? last.end - 1 : last.end;
    const called = only !== null && isFunction(only.expression) ? only.expression : undefined;
    const inserts = [
      [last.start, 'return ('],
      [stop, called === undefined ? ')' : ')()'],
    ];
    return { inserts, called };
  }
  const entry = ['main', 'run'].find((name) => isLoneEntry(block, statements, name));
  return entry === undefined ? { inserts: [] } : { inserts: [[end, `\n;return ${entry}()`]], called: functionNamed(statements, entry) };
};

/** The name of the function that a statement declares and that does nothing else, or undefined. */
const nameOfFunction = (node) => {
  if (node.type === 'FunctionDeclaration') return node.id.name;
  const declared = node.type === 'VariableDeclaration' && node.declarations.length === 1 ? node.declarations[0] : undefined;
  return declared?.id.type === 'Identifier' && isFunction(declared.init) ? declared.id.name : undefined;
};

const functionNamed = (statements, name) => {
  const found = statements.find((node) => nameOfFunction(node) === name);
  return found?.type === 'VariableDeclaration' ? found.declarations[0].init : found;
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
