// console.log, warn, error. Each entry is sent when it is made, so that a body which then loops for ever has still shown what it logged.
import { ErrorProto, NumberCtor, freeze, isPrototypeOf, stringIndexOf, stringSlice, parseInteger, symbolDescription } from './primordials.js';
import { bytes, send } from './host.js';
import { encodeValue, functionName } from './encode.js';
import { fieldsOf } from './errors.js';
import { cutMiddle, quote, readSafely, textOf } from './text.js';
import { cutOff, limits, run } from './state.js';

/** JSON text of one logged thing is made up to this length and then cut: an entry keeps far less. */
const MAX_ITEM = 1 << 20;

/** The same for the fields of a logged error. */
const MAX_FIELDS = 4096;

const show = (value) => {
  switch (typeof value) {
    case 'string':
      return value;
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return `Symbol(${symbolDescription(value) ?? ''})`;
    case 'function': {
      const name = functionName(value);
      return name === '' ? '[Function]' : `[Function: ${name}]`;
    }
    case 'object':
      return value === null ? 'null' : showObject(value);
    default:
      return `${value}`;
  }
};

const showObject = (value) => {
  try {
    if (isPrototypeOf(ErrorProto, value)) {
      const stack = readSafely(value, 'stack', undefined);
      const told = typeof stack === 'string' && stack !== '' ? stack : `${textOf(readSafely(value, 'name', 'Error'), 'Error')}: ${textOf(readSafely(value, 'message', ''), '')}`;
      // What the stack does not tell: code, cause, errors under it.
      const fields = fieldsOf(value, MAX_FIELDS);
      return fields === 'null' ? told : `${told}\n    ${fields}`;
    }
    const coded = encodeValue(value, MAX_ITEM);
    return coded.over ? `[${coded.cut ? 'more than ' : ''}${coded.size} bytes of JSON, too much to log]` : coded.text;
  } catch {
    return '[unreadable]';
  }
};

/** printf-style directives that other consoles know, when the first thing is a string that has any. */
const fill = (items) => {
  const form = items[0];
  let text = '';
  let used = 1;
  let from = 0;
  for (;;) {
    const at = stringIndexOf(form, '%', from);
    if (at < 0 || at + 1 >= form.length) break;
    const directive = form[at + 1];
    const known = stringIndexOf('sdifjoOc%', directive) >= 0;
    text += stringSlice(form, from, at);
    from = at + 2;
    if (directive === '%') text += '%';
    else if (!known || used >= items.length) text += `%${directive}`;
    else text += convert(directive, items[used++]);
  }
  text += stringSlice(form, from);
  for (; used < items.length; used++) text += ` ${show(items[used])}`;
  return text;
};

const convert = (directive, item) => {
  if (directive === 'c') return '';
  if (directive === 'j' || directive === 'o' || directive === 'O' || directive === 's') return show(item);
  if (typeof item === 'object' || typeof item === 'symbol') return 'NaN';
  return directive === 'i' ? `${parseInteger(`${item}`, 10)}` : `${NumberCtor(item)}`;
};

const entryText = (items) => {
  if (items.length === 0) return '';
  if (items.length > 1 && typeof items[0] === 'string' && stringIndexOf(items[0], '%') >= 0) return fill(items);
  let text = show(items[0]);
  for (let i = 1; i < items.length; i++) text += ` ${show(items[i])}`;
  return text;
};

const write = (level, items) => {
  if (run.closed) {
    run.lateEntries++;
    return;
  }
  const cut = cutMiddle(entryText(items), limits.consoleEntryBytes, bytes);
  writeEntry(level, cut.text, cut.dropped);
};

export const writeEntry = (level, text, dropped) => {
  const tail = dropped > 0 ? `,"dropped":${dropped}` : '';
  run.consoleBytes += text.length * 3 > limits.consoleEntryBytes ? bytes(text) : text.length;
  send(`{"jsonrpc":"2.0","method":"console","params":{"level":"${level}","text":${quote(text)}${tail}}}`);
  if (run.consoleBytes > limits.consoleFloodBytes) {
    cutOff('output_limit', `the console took more than ${limits.consoleFloodBytes} bytes; log less, return what matters`);
  }
};

const methods = {
  log(...items) {
    write('log', items);
  },
  warn(...items) {
    write('warn', items);
  },
  error(...items) {
    write('error', items);
  },
};

export const makeConsole = () => {
  freeze(methods.log);
  freeze(methods.warn);
  freeze(methods.error);
  return freeze(methods);
};
