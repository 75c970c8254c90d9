// TypeScript types out, spaces in. Nothing moves: every position of what stays is the caller's. What needs generated code (enums, namespaces, parameter
// properties, decorators) is refused by name. The plug-in is only loaded when plain parsing has failed.
import { Parser } from 'acorn';
import { OPTIONS } from './parse.js';
import { namesIn, walk } from './tree.js';

let TypeScriptParser = null;

const load = () => {
  // A `require` stays lazy in the bundle: the plug-in's code is first compiled here.
  TypeScriptParser ??= Parser.extend(require('@sveltejs/acorn-typescript').tsPlugin());
  return TypeScriptParser;
};

/** The tree of a text with types and `export`s. Throws acorn's SyntaxError. */
export const parseTypeScript = (text, onToken) =>
  load().parse(text, { ...OPTIONS, sourceType: /\bexport\b|\bimport\s+type\b|\bimport\s*\{[^}]*\btype\s/.test(text) ? 'module' : 'script', locations: true, onToken });

/** A TypeScript construct that has no JavaScript beneath it. */
export class Unsupported extends Error {
  constructor(what, pos) {
    super(`TypeScript ${what[0]} is not supported (types are removed, nothing is generated); ${what[1]}`);
    this.pos = pos;
  }
}

const REFUSED = {
  TSEnumDeclaration: ['enum', 'use a const object'],
  TSModuleDeclaration: ['namespace', 'use functions and objects'],
  TSParameterProperty: ['parameter property', 'declare the field and assign it in the constructor'],
  TSImportEqualsDeclaration: ['import assignment', 'modules are not available'],
  TSExportAssignment: ['export assignment', 'return the value'],
  Decorator: ['decorator', 'call the function yourself'],
};

const MODIFIERS = /\b(?:public|private|protected|readonly|override|abstract|declare)\b/g;
const ENDS_OPEN = new Set(['ExpressionStatement', 'VariableDeclaration', 'ReturnStatement', 'ThrowStatement', 'PropertyDefinition']);
const LOOPS = new Set(['ForStatement', 'ForInStatement', 'ForOfStatement']);

/** Positions where a statement ends without a semicolon: a removed type there must leave one, or the next line could join this one. */
const openEnds = (tree, text) => {
  const ends = new Set();
  walk(tree, (node, parent) => {
    if (ENDS_OPEN.has(node.type) && text[node.end - 1] !== ';' && !LOOPS.has(parent?.type)) ends.add(node.end);
    return true;
  });
  return ends;
};

class Eraser {
  constructor(text, tree) {
    this.text = text;
    this.chars = text.split('');
    this.ends = openEnds(tree, text);
    this.inserts = [];
    this.defaultExport = null;
    this.isCalled = true;
  }

  blank(start, end, asStatement = false) {
    for (let i = start; i < end; i++) if (!/[\r\n\u2028\u2029]/.test(this.chars[i])) this.chars[i] = ' ';
    if (asStatement || this.ends.has(end)) this.chars[start] = ';';
  }

  /** Blanks the next `mark` between two positions, e.g. the `?` of an optional parameter. */
  blankMark(mark, from, to) {
    const at = this.text.indexOf(mark, from);
    if (at >= 0 && at < to) this.blank(at, at + 1);
  }

  modifiers(node) {
    const head = this.text.slice(node.start, node.key.start);
    for (const match of head.matchAll(MODIFIERS)) this.blank(node.start + match.index, node.start + match.index + match[0].length);
  }

  keyword(node, word, before) {
    const at = this.text.slice(node.start, before).lastIndexOf(word);
    if (at >= 0) this.blank(node.start + at, node.start + at + word.length);
  }
}

const isType = (node) => node.type.startsWith('TS');

const wrappers = {
  TSAsExpression(e, node) {
    const gap = e.text.slice(node.expression.end, node.typeAnnotation.start);
    e.blank(node.expression.end + gap.lastIndexOf('as'), node.end);
  },
  TSSatisfiesExpression(e, node) {
    const gap = e.text.slice(node.expression.end, node.typeAnnotation.start);
    e.blank(node.expression.end + gap.lastIndexOf('satisfies'), node.end);
  },
  TSNonNullExpression(e, node) {
    e.blank(node.end - 1, node.end);
  },
  TSTypeAssertion(e, node) {
    const end = e.text.indexOf('>', node.typeAnnotation.end) + 1;
    if (/[\r\n]/.test(e.text.slice(node.start, node.expression.start))) throw new Unsupported(['<T> assertion over several lines', 'use `as`'], node.start);
    e.blank(node.start, end);
  },
  TSInstantiationExpression() {},
};

const nodes = {
  Identifier(e, node) {
    if (node.optional) e.blankMark('?', node.start + node.name.length, node.typeAnnotation?.start ?? node.end);
  },
  VariableDeclarator(e, node) {
    if (node.definite) e.blankMark('!', node.id.start, node.id.typeAnnotation?.start ?? node.id.end);
  },
  VariableDeclaration(e, node) {
    if (!node.declare) return true;
    e.blank(node.start, node.end, true);
    return false;
  },
  ClassDeclaration(e, node) {
    if (node.declare) {
      e.blank(node.start, node.end, true);
      return false;
    }
    if (node.abstract) e.keyword(node, 'abstract', node.id?.start ?? node.body.start);
    return nodes.ClassExpression(e, node);
  },
  ClassExpression(e, node) {
    const list = node.implements ?? [];
    if (list.length > 0) {
      const from = node.superClass?.end ?? node.id?.end ?? node.start;
      const at = e.text.slice(0, list[0].start).lastIndexOf('implements');
      if (at >= from) e.blank(at, list[list.length - 1].end);
    }
    return true;
  },
  PropertyDefinition(e, node) {
    if (node.declare || node.abstract) {
      e.blank(node.start, node.end, true);
      return false;
    }
    e.modifiers(node);
    if (node.optional) e.blankMark('?', node.key.end, node.typeAnnotation?.start ?? node.value?.start ?? node.end);
    if (node.definite) e.blankMark('!', node.key.end, node.typeAnnotation?.start ?? node.end);
    return true;
  },
  MethodDefinition(e, node) {
    if (node.abstract || !node.value.body) {
      e.blank(node.start, node.end, true);
      return false;
    }
    e.modifiers(node);
    if (node.optional) e.blankMark('?', node.key.end, node.value.start);
    return true;
  },
  ImportDeclaration(e, node) {
    // Where types alone are named nothing is left of an import. Any other stays, and is refused.
    const named = node.specifiers ?? [];
    if (node.importKind !== 'type' && !(named.length > 0 && named.every((one) => one.importKind === 'type'))) return true;
    e.blank(node.start, node.end, true);
    return false;
  },
  ExportNamedDeclaration(e, node) {
    if (node.source || !node.declaration) {
      if (node.source) throw new Unsupported(['re-export', 'modules are not available'], node.start);
      e.blank(node.start, node.end, true);
      return false;
    }
    e.blank(node.start, node.start + 'export'.length);
    return true;
  },
  ExportDefaultDeclaration(e, node) {
    const { declaration } = node;
    const names = /^export\s+default/.exec(e.text.slice(node.start))?.[0].length ?? 0;
    if (declaration.type === 'FunctionDeclaration' && declaration.id) {
      e.blank(node.start, node.start + names);
      e.defaultExport = declaration.id.name;
      return true;
    }
    if (declaration.type === 'ClassDeclaration') e.isCalled = false;
    // As long as `export default`, so that no column moves.
    e.blank(node.start, node.start + names);
    for (let i = 0; i < 14; i++) e.chars[node.start + i] = 'var $$export ='[i];
    e.inserts.push([declaration.end, ';']);
    e.defaultExport = '$$export';
    return true;
  },
  Decorator(e, node) {
    throw new Unsupported(REFUSED.Decorator, node.start);
  },
};

const functionTypes = (e, node) => {
  const self = node.params?.[0];
  if (self?.type === 'Identifier' && self.name === 'this') {
    const comma = /^\s*,/.exec(e.text.slice(self.end));
    e.blank(self.start, self.end + (comma === null ? 0 : comma[0].length));
  }
  if (node.type !== 'ArrowFunctionExpression') return;
  const { returnType, typeParameters } = node;
  if (returnType && /[\r\n]/.test(e.text.slice(returnType.start, returnType.end))) {
    // `)` and `=>` must stay on one line: the parenthesis moves to the end of the type.
    const close = e.text.lastIndexOf(')', returnType.start);
    e.blank(returnType.start, returnType.end);
    e.blank(close, close + 1);
    e.chars[returnType.end - 1] = ')';
  }
  if (node.async && typeParameters && /[\r\n]/.test(e.text.slice(typeParameters.start, typeParameters.end))) {
    const open = e.text.indexOf('(', typeParameters.end);
    e.blank(typeParameters.start, open + 1);
    e.chars[typeParameters.start] = '(';
  }
};

/** The names in a tree, those of its types left out. */
export const namesOfValues = (tree) => namesIn(tree, (node) => isType(node) && wrappers[node.type] === undefined);

/**
 * The text with types blanked, the text to insert (pairs of position and text) and the name that holds a default export, if there is one; `isCalled`: not a class.
 * Throws `Unsupported`.
 */
export const eraseTypes = (text, tree) => {
  const e = new Eraser(text, tree);
  const moved = new Set();
  walk(tree, (node, parent, key) => {
    if (REFUSED[node.type] !== undefined && !node.declare) throw new Unsupported(REFUSED[node.type], node.start);
    if (wrappers[node.type] !== undefined) {
      wrappers[node.type](e, node);
      return true;
    }
    if (isType(node)) {
      if (!moved.has(node)) e.blank(node.start, node.end, key === 'body' && parent.type !== 'ClassBody' ? true : parent.type === 'ClassBody');
      return false;
    }
    if (node.params) {
      functionTypes(e, node);
      if (node.returnType && e.chars[node.returnType.end - 1] === ')' && e.text[node.returnType.end - 1] !== ')') moved.add(node.returnType);
      if (node.typeParameters && e.chars[node.typeParameters.start] === '(') moved.add(node.typeParameters);
    }
    const visit = nodes[node.type];
    return visit === undefined ? true : visit(e, node) !== false;
  });
  return { text: e.chars.join(''), inserts: e.inserts, defaultExport: e.defaultExport, isCalled: e.isCalled };
};
