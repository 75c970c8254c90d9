// Why a text does not parse, when it is plainly something else than JavaScript.

const API = 'send the JavaScript body only; tools are reached through openclaw.tools.call(id, args)';

const SHELL = /^\s*(?:\$ \S|sudo |(?:ls|cd|cat|echo|curl|wget|grep|find|mkdir|rm|cp|mv|npm|npx|pip|python3?|node|bash|sh|git|export [A-Z_]+=)(?:\s+[-\w./~"'$@:]|\s*$))/m;
const PYTHON = /^\s*(?:def \w+\(.*\):|from [\w.]+ import |import \w+\s*$|print\(.*\)\s*$|elif .*:|(?:if|for|while) .*:\s*$|async def )/m;

const isJson = (text) => {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
};

/** One clause of advice, or ''. `text` is the caller's. */
export const adviceForText = (text, message) => {
  const trimmed = text.trim();
  if (isJson(trimmed)) return `this is JSON, not JavaScript: to return it, write return (…); to call a tool, ${API}`;
  if (/^[{[]/.test(trimmed) && /^[{[]\s*"[^"]*"\s*[:,]/.test(trimmed)) return `this looks like JSON, not JavaScript: ${API}`;
  if (/^<(?:!doctype|html|\?xml|[a-z]+[ >])/i.test(trimmed)) return `this looks like markup, not JavaScript: ${API}`;
  if (/^#!.*\b(?:sh|bash|zsh|python3?)\b/.test(trimmed) || SHELL.test(firstLines(trimmed))) return `this looks like shell, there is no shell here: ${API}`;
  if (PYTHON.test(firstLines(trimmed))) return `this looks like Python, not JavaScript: ${API}`;
  if (/^import and export/.test(message)) return MODULES;
  return '';
};

export const MODULES = 'modules are not available; only the globals of ECMAScript, console and openclaw.tools.search, describe and call are';

const firstLines = (text) => text.split('\n', 3).join('\n');
