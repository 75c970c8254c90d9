// Why a text does not parse, when it is plainly something else than JavaScript. Code between backticks can be run as it stands.

const CALL = '`await openclaw.tools.call(id, args)`';

export const ONLY_CODE = `send the JavaScript body only; tools are found with \`await openclaw.tools.search(query)\` and run with ${CALL}`;

export const MODULES = `import is refused: modules are not available here; leave it out. Tools are found with \`await openclaw.tools.search(query)\` and run with ${CALL}`;

export const EXPORTS = 'this export is refused: modules are not available here; give the result with `return value`';

const SHELL =
  /^\s*(?:\$ \S|sudo |(?:ls|cd|cat|echo|curl|wget|grep|find|mkdir|rm|cp|mv|npm|npx|yarn|pip3?|python3?|node|deno|bun|bash|sh|git|docker|codemode|openclaw|export [A-Z_]+=)(?:\s+[-\w./~"'$@:]|\s*$)|export [A-Z_]+=|for \w+ in [^;\n]*; do\b|if \[\[? |[A-Za-z_]+=\$\()/m;
const PYTHON =
  /^\s*(?:"""|def \w+\(.*\)(?:\s*->.*)?:|from [\w.]+ import |import \w+(?: as \w+)?\s*$|print\(.*\)\s*$|elif .*:|(?:if|for|while|with|try|else)\b[^{}]*:\s*$|async def |[frb]{1,2}["'])|\bfor \w+ in \w+\(.*\)\]/m;
const SQL = /^\s*(?:select\s.+\sfrom|insert\s+into|update\s+\w+\s+set|delete\s+from|create\s+table)\s/i;
/** Two words or more behind a bullet. */
const BULLET = /^(?:[-*] |\d+[.)] )["']?[A-Za-z][\w'’-]*[,:]? (?:[\w'’":.,-]+ )*[\w'’":.,!?-]+$/;
/** Three words on one line, the first no keyword, and nothing that only code has. */
const PROSE = /^(?!(?:return|const|let|var|await|async|function|class|if|for|while|do|switch|throw|try|new|typeof|case|import|export|yield)\b)(?:[-*#>]+ |\d+[.)] )?["']?[A-Za-z][\w'’-]*[,:]? (?:[\w'’":.,-]+ )+[\w'’":.,!?-]+$/;

const isJson = (text) => {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
};

/** True where `import` is a word of another language. */
export const isOtherLanguage = (text) => PYTHON.test(firstLines(text.trim())) || SHELL.test(firstLines(text.trim()));

/** The field of a JSON text that holds the code it was sent with, or undefined. */
const wrapped = (text) => ['code', 'body', 'script', 'source', 'javascript', 'js'].find((name) => typeof JSON.parse(text)[name] === 'string');

/** One clause of advice, or ''. `text` is the caller's. */
export const adviceForText = (text) => {
  const trimmed = text.trim();
  const first = firstLines(trimmed);
  if (isJson(trimmed) && wrapped(trimmed) !== undefined) return `this is JSON around a body: send the text of "${wrapped(trimmed)}" alone`;
  if (isJson(trimmed)) return `this is JSON, not JavaScript: to return it, put \`return\` before it; to call a tool, write ${CALL}`;
  if (/^[{[]\s*"[^"]*"\s*[:,]/.test(trimmed)) return `this looks like JSON, not JavaScript: ${ONLY_CODE}`;
  if (/^\{\s*[\w$]+\s*:/.test(trimmed) && trimmed.endsWith('}')) return `this looks like an object, and a statement cannot begin with one: put \`return\` before it; to call a tool, write ${CALL}`;
  if (/^<(?:!doctype|\/?[a-z][\w-]*[ >/])/i.test(trimmed)) return `this looks like markup, not JavaScript: ${ONLY_CODE}`;
  if (/^#!.*\bpython3?\b/.test(trimmed)) return `this looks like Python, not JavaScript: ${ONLY_CODE}`;
  if (/^#!.*\b(?:sh|bash|zsh)\b/.test(trimmed) || SHELL.test(first)) return `this looks like shell, there is no shell here: ${ONLY_CODE}`;
  if (PYTHON.test(first)) return `this looks like Python, not JavaScript: ${ONLY_CODE}`;
  if (SQL.test(first)) return `this looks like SQL, there is no database here: ${ONLY_CODE}`;
  const line = first.split('\n', 1)[0].trim();
  if (/^--- \S.*\n\+\+\+ \S/.test(first)) return `this looks like a diff, not JavaScript: ${ONLY_CODE}`;
  if (BULLET.test(line)) return `this looks like prose, not JavaScript: ${ONLY_CODE}`;
  // `# text` before code is meant as a comment: what stopped the parser says so.
  if (!/^# /.test(line) && PROSE.test(line)) return `this looks like prose, not JavaScript: ${ONLY_CODE}`;
  return '';
};

const firstLines = (text) => text.split('\n', 3).join('\n').slice(0, 400);
