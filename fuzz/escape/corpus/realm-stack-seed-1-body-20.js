// walls: realm
// reopen: stack
// origin: seed 1 body 20

try { adopt(Error.prototype, (Object.create(null))); keep(((() => { const e = new (class extends Error {})("x"); e.name = (Object.create(null)); return e })()).stack) } catch (e) { keep(e) }

return out();
