// What to do instead: advice is added to the error of a run that ended by a mistake that models make, so a body that catches the error sees V8's own text. The names
// they reach for are not defined at all (`typeof fetch` is "undefined"). Code between backticks can be run as it stands; tests do so.
import { charCodeAt, hasOwn, regexpExec, stringIndexOf, stringSlice } from './primordials.js';
import { API, AVAILABLE, CALL, makeAdvice } from './habits.js';
import { hints } from './hints.js';
import { chainedAdvice, unawaited } from './unawaited.js';

let advice = null;

/** All of it, for those who try what it says. */
export const allAdvice = () => makeAdvice();

const NOT_DEFINED = ' is not defined';
const NOT_FUNCTION = ' is not a function';
const NOT_CONSTRUCTOR = ' is not a constructor';

export const endsWith = (text, end) => text.length >= end.length && stringSlice(text, text.length - end.length) === end;

const startsWith = (text, start) => stringSlice(text, 0, start.length) === start;

const forName = (name) => {
  advice ??= makeAdvice();
  return hasOwn(advice, name) ? advice[name] : '';
};

/** The name that a "… is not defined" is about, or ''. */
export const missingName = (name, message) =>
  name === 'ReferenceError' && endsWith(message, NOT_DEFINED) ? stringSlice(message, 0, message.length - NOT_DEFINED.length) : '';

/** A word that a body took for a tool: search is sure to take it. */
const asTool = (word) =>
  regexpExec(/^[\w$:. -]{1,64}$/, word) === null ? API : `if it is meant as a tool, find its id with \`await openclaw.tools.search("${word}")\` and run it with ${CALL}`;

const THREE = 'openclaw.tools has search, describe and call';

/** Words for what the three do. */
const VERB = /^(?:search|describe|call|list|get|find|execute|invoke|run|use|exec|perform|query|help)(?:_?[Mm]cp)?(?:_?(?:[Tt]ools?|[Aa]ll|[Ss]chema))?$/;

const notMethod = (word) => (regexpExec(VERB, word) !== null ? `${THREE}: ${API}` : `${THREE}, and tools are not methods of it; ${asTool(word)}`);

/** True for a name that the body gave to `openclaw` or `openclaw.tools`. */
const isOurs = (name, source) => {
  if (name === 'tools' && regexpExec(/\btools\b[^{}]*\}\s*=\s*openclaw\b/, source) !== null) return true;
  const given = `${name} = openclaw`;
  const at = stringIndexOf(source, given);
  return at >= 0 && regexpExec(/^(?:\.tools)?\s*(?:[;,\n]|$)/, stringSlice(source, at + given.length, at + given.length + 80)) !== null;
};

/** `openclaw.x is not a function` and its like. */
const forApi = (message, source) => {
  const chained = regexpExec(/^openclaw\.tools\.(search|describe|call)\(/, message);
  if (chained !== null) return chainedAdvice(chained[1]);
  if (regexpExec(/^openclaw(?:\.tools)? is not a (?:function|constructor)$/, message) !== null) return `${THREE}: ${API}`;
  const called = regexpExec(/^([\w$]+)\..* is not a (?:function|constructor)$/, message);
  if (called === null || !(called[1] === 'openclaw' || isOurs(called[1], source))) return '';
  const word = regexpExec(/([^.[\]"'()\s]+)["'\]]* is not a \w+$/, message);
  return word === null ? `${THREE}: ${API}` : notMethod(word[1]);
};

const ENVELOPE = /\.(?:content|result|results|data|tools|items|output|structuredContent|response|body|json|hits|matches|rows)\s*(?:\??\.)?\s*\[?$/;
const NO_ENVELOPE = 'search gives an array of rows and a call the value of the tool itself, both without an envelope; look at it with `console.log(value)`';

/** True for a name that the body took out of what `search` or `call` gave: `const { rows } = await …`. */
const isTakenOut = (name, source) => {
  const taken = regexpExec(/\{([^{}=]*)\}\s*=\s*await\s+openclaw\.tools\.(?:search|call)\(/, source);
  return taken !== null && name !== '' && regexpExec(/[^\w$]$|^$/, stringSlice(taken[1], 0, stringIndexOf(taken[1], name))) !== null && stringIndexOf(taken[1], name) >= 0;
};

const callsTools = (source) => stringIndexOf(source, 'openclaw') >= 0;

/** What was read of something undefined. */
const forReading = (message, source, before) => {
  const word = regexpExec(/\(reading '([^']*)'\)$/, message)?.[1] ?? '';
  if (regexpExec(/\bthis\s*\??\.\s*$/, before) !== null) return '`this` is undefined here; globals are reached by their names alone, such as `openclaw.tools`';
  if (regexpExec(/\bopenclaw\s*\.\s*tools\s*\.\s*[\w$]+\s*\??\.?\s*$/, before) !== null) return notMethod(word);
  if (regexpExec(/\bopenclaw\s*\.\s*[\w$]+\s*\??\.?\s*$/, before) !== null) return `openclaw has tools alone, and tools are not properties of it; ${asTool(word)}`;
  if (hints.emptySearch !== null && regexpExec(/^(?:id|name|description|input|source|sourceName)$/, word) !== null) {
    // A search whose promise was read had no rows to give yet, however many it found.
    return unawaited(source) || `the search for ${hints.emptySearch} found no tool; search with other words, and see that there is a row before you take it`;
  }
  if (callsTools(source) && (regexpExec(ENVELOPE, before) !== null || isTakenOut(regexpExec(/([\w$]+)\s*(?:\??\.|\??\.?\[)\s*$/, before)?.[1] ?? '', source))) return NO_ENVELOPE;
  return '';
};

/** What a function that was called for the body did not get. */
const forParameters = (message, before) => {
  const { parameters } = hints;
  for (let i = 0; i < parameters.length; i++) {
    const name = parameters[i];
    const isIt = name === '{' ? startsWith(message, 'Cannot destructure') : regexpExec(/([\w$]+)\s*\??\.?\s*[[(]?$/, before)?.[1] === name || startsWith(message, `${name} is not`);
    if (isIt) return 'the function of a body is called without arguments: write the values into it, and use the global `openclaw.tools`';
  }
  return '';
};

/** A line that begins with a bracket goes on with the one before it. */
const forJoinedLines = (source, offset) => {
  let start = offset;
  while (start > 0 && charCodeAt(source, start - 1) !== 10) start--;
  const first = regexpExec(/^\s*([[(`])/, stringSlice(source, start, start + 200));
  if (first === null || regexpExec(/[\w$)\]"'`]\s*$/, stringSlice(source, start > 200 ? start - 200 : 0, start)) === null) return '';
  return `the line begins with ${first[1]} and the one before it has no semicolon, so both are read as one expression; put a semicolon between them`;
};

const BUILT_IN = /^((?:Object|Array|Promise|Map|Set|RegExp|Math|String|Number|Error|JSON|Date|Symbol|Intl|Reflect|BigInt|Uint8Array)\.[\w$]+) is not a function$/;

/** `before`: the source up to the place of the error, as far as one looks. */
const forType = (message, source, offset) => {
  const before = offset < 0 ? '' : stringSlice(source, offset > 200 ? offset - 200 : 0, offset);
  const notFunction = endsWith(message, NOT_FUNCTION);
  const reading = startsWith(message, 'Cannot read properties of undefined');
  if (notFunction || endsWith(message, NOT_CONSTRUCTOR)) {
    const api = forApi(message, source);
    if (api !== '') return api;
  }
  if (notFunction && startsWith(message, 'console.')) return 'console has log, warn and error: `console.log(value)`';
  if (notFunction || reading) {
    const global = regexpExec(/\b(?:globalThis|global|window|self)\s*\??\.\s*([\w$]+)\s*\??\.?\s*$/, before);
    const named = regexpExec(/^(?:\(intermediate value\)|globalThis)\.([\w$]+) is not a function$/, message);
    const text = forName(global !== null ? global[1] : named !== null ? named[1] : '');
    if (text !== '') return text;
  }
  const builtIn = notFunction ? regexpExec(BUILT_IN, message) : null;
  if (builtIn !== null) return `this version of JavaScript has no ${builtIn[1]}; write it out in the body`;
  const isNot = stringIndexOf(message, 'not iterable') >= 0;
  const destructured = startsWith(message, 'Cannot destructure');
  if (notFunction || reading || isNot || destructured) {
    const parameter = forParameters(message, before);
    if (parameter !== '') return parameter;
  }
  if (reading) {
    const text = forReading(message, source, before);
    if (text !== '') return text;
  }
  if ((notFunction || reading) && offset >= 0) {
    const text = forJoinedLines(source, offset);
    if (text !== '') return text;
  }
  const subject = isNot ? regexpExec(/^\S*/, message)[0] : '';
  if (isNot && callsTools(source) && (regexpExec(ENVELOPE, subject) !== null || isTakenOut(subject, source))) return NO_ENVELOPE;
  return notFunction || reading || isNot || destructured ? unawaited(source) : '';
};

/** A missing name with what is read of it: `demo.echo(…)` is the tool echo of demo. */
const forMissing = (missing, source, offset) => {
  const known = forName(missing);
  if (known !== '') return known;
  const path = offset < 0 ? null : regexpExec(/^[\w$]+((?:\s*\.\s*[\w$]+)+)\s*\(/, stringSlice(source, offset, offset + 200));
  const word = path === null ? missing : `${missing} ${regexpExec(/[\w$]+$/, path[1])[0]}`;
  return `${AVAILABLE}; ${asTool(word)}`;
};

/** Advice for an error that ended the run, or ''. `offset`: where in `source` the error was made, or -1. */
export const adviceFor = (name, message, source, offset) => {
  const missing = missingName(name, message);
  if (missing !== '') return forMissing(missing, source, offset);
  if (name === 'TypeError') return forType(message, source, offset);
  if (name === 'EvalError') return 'code from strings is switched off here; write the code in the body itself';
  if (name === 'SyntaxError' && stringIndexOf(message, '[object ') >= 0 && endsWith(message, 'is not valid JSON')) {
    return stringIndexOf(message, '[object Promise]') >= 0 ? unawaited(source) : 'this is an object already: calls give native values, use them without JSON.parse';
  }
  return '';
};

/** What a body that ended without a value may have forgotten, or ''. `called`: it made a call; `logged`: it showed something. */
export const adviceForNothing = (source, called, logged) => {
  const forgotten = called || !logged ? unawaited(source) : '';
  return forgotten === '' && !logged ? hints.idle : forgotten;
};

/** What a body whose value tells of a promise may have forgotten, or ''. */
export const adviceForTrace = (source) => unawaited(source);
