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

/** Words that begin code: what stands behind the marks of a fence is no language then. */
const CODE = /^\s*(?:return|const|let|var|await|async|function|class|if|for|while|do|switch|throw|try|new|import|export|openclaw|console)\b/;

const isCode = (text) => CODE.test(text) || /[;(]/.test(text.replace(/"[^"]*"|'[^']*'|\{[^}]*\}/g, ''));

/** Where the opening fence ends: at its line's end, or where code begins on that line. */
const endOfOpening = (text, open) => {
  const marks = text.indexOf(open.mark, open.start) + open.mark.length;
  const info = text.slice(marks, open.end);
  const language = /^\s*(?:[cm]?jsx?|[cm]?tsx?|javascript|typescript|ecmascript|node)?(?=\s|$)/i.exec(info)?.[0] ?? '';
  return isCode(info.slice(language.length)) ? marks + language.length : open.end;
};

/** A fence that was opened and never closed: the end of the text closes it, or marks behind the last of the code. */
const unclosed = (text, open, begin) => {
  const end = text.trimEnd().length;
  const opened = blank(text, open.start, begin);
  return end - open.mark.length >= begin && text.slice(0, end).endsWith(open.mark) ? blank(opened, end - open.mark.length, end) : opened;
};

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
  const inside = endOfOpening(text, open);
  if (close === undefined) return { text: unclosed(text, open, inside) };
  const rest = text.slice(close.end);
  if (/\S/.test(rest)) {
    const next = lines.find((line) => line.start > close.start);
    return next === undefined ? { outside: true, at: close.end + /\S/.exec(rest).index } : { several: true, at: next.start };
  }
  return { text: blank(blank(text, open.start, inside), close.start, text.length) };
};

/** A whole fence on one line: ```return 1``` with or without a language. */
const oneLine = (text, begin) => {
  const match = /^(`{3,})(?:(?:js|javascript|ts|typescript)\s)?([^`]*?)\1\s*$/.exec(text.slice(begin));
  if (!match) return { text };
  const from = text.indexOf(match[2], begin + match[1].length);
  const to = text.lastIndexOf(match[1]);
  return { text: blank(blank(text, to, text.length), 0, from) };
};

/** The text without the one fence that closes it and was never opened, or null: the line before it was left out. */
export const withoutLastFence = (text) => {
  const [only, ...more] = fenceLines(text);
  if (only === undefined || more.length > 0 || only.info !== '' || /\S/.test(text.slice(only.end))) return null;
  return blank(text, only.start, text.length);
};

/** `{text, marks}`: the text with all its fences blanked, and where those stood that are not the first and last around the whole. */
export const withoutFences = (text) => {
  const lines = fenceLines(text);
  const around = lines.length > 2 && !/\S/.test(text.slice(0, lines[0].start)) && !/\S/.test(text.slice(lines[lines.length - 1].end));
  return { text: lines.reduce((rest, line) => blank(rest, line.start, line.end), text), marks: (around ? lines.slice(1, -1) : lines).map((line) => line.start) };
};

/** How many fence lines a text has that is no single fenced block: models wrap code in prose. */
export const countFences = (text) => fenceLines(text).length;
