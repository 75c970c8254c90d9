for (let turn = 0; turn < 8; turn++) await null;
try { keep(await call("noop", {})); } catch (e) { keep(e); }
for (let turn = 0; turn < 8; turn++) await null;
