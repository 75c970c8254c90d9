// Markdown fences around a body. No body starts with three backticks and means it: as JavaScript that is a tagged template on an empty string.
import { blank } from './lines.js';

const lineEnds = (text, from) => {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
};

/** `{mark, start, end, info}` of every line that is a fence. */
const fenceLines = (text) => {
  const found = [];
  for (let start = 0; start < text.length; ) {
    const end = lineEnds(text, start);
    const match = /^[\uFEFF ]{0,4}(`{3,}|~{3,})([^`\r\n]*)\r?$/.exec(text.slice(start, end));
    if (match) found.push({ mark: match[1], info: match[2].trim(), start, end });
    start = end + 1;
  }
  return found;
};

const closes = (line, open) => line.info === '' && line.mark[0] === open.mark[0] && line.mark.length >= open.mark.length;

/** Languages that a fence may be marked with and that do not run here. */
const OTHERS = /^(?:sh|bash|shell|zsh|fish|console|powershell|ps1|cmd|py|python3?|ruby|rb|go|rust|java|kotlin|c|cpp|csharp|php|perl|lua|sql|html|xml|css|yaml|yml|toml|diff)$/i;

/**
 * Removes one fence around the whole by blanking its two lines. Gives `{text}`, or `{several: true, at}` when there is more than one fence.
 * A text that does not start with a fence is given back as it is. `{language, at}`: the fence says that it holds no JavaScript.
 */
export const removeFence = (text) => {
  const begin = /^[\uFEFF\s]*/.exec(text)[0].length;
  if (!text.startsWith('```', begin) && !text.startsWith('~~~', begin)) return { text };
  const lines = fenceLines(text).filter((line) => line.end > begin);
  const open = lines[0];
  if (open === undefined || open.start > begin) return oneLine(text, begin);
  const language = /^[\w+#-]*/.exec(open.info)[0];
  if (OTHERS.test(language)) return { language, at: open.start + open.mark.length };
  const close = lines.find((line, i) => i > 0 && closes(line, open));
  // A fence that was opened and never closed: the end of the text closes it.
  if (close === undefined) return { text: blank(text, open.start, open.end) };
  const rest = text.slice(close.end);
  if (/\S/.test(rest)) {
    const next = lines.find((line) => line.start > close.start);
    return next === undefined ? { outside: true, at: close.end + /\S/.exec(rest).index } : { several: true, at: next.start };
  }
  return { text: blank(blank(text, open.start, open.end), close.start, text.length) };
};

/** A whole fence on one line: ```return 1``` with or without a language. */
const oneLine = (text, begin) => {
  const match = /^(`{3,})(?:(?:js|javascript|ts|typescript)\s)?([^`]*?)\1\s*$/.exec(text.slice(begin));
  if (!match) return { text };
  const from = text.indexOf(match[2], begin + match[1].length);
  const to = text.lastIndexOf(match[1]);
  return { text: blank(blank(text, to, text.length), 0, from) };
};

/** How many fence lines a text has that is no single fenced block: models wrap code in prose. */
export const countFences = (text) => fenceLines(text).length;
