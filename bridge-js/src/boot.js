// The whole text of `node -e`. It reads the bundle from descriptor 5, closes it and runs it; everything else is in the bundle, so that this stays
// small enough to read on a command line. Layout of the descriptor: 8 bytes magic, u32 length of source, u32 length of code cache, source, cache.
(function (fs, vm) {
  const take = (length) => {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; ) {
      const got = fs.readSync(5, bytes, at, length - at);
      if (got === 0) throw new Error('codemode: the bundle on descriptor 5 is cut short');
      at += got;
    }
    return bytes;
  };
  const head = take(16);
  const magic = head.latin1Slice(0, 8);
  const source = take(head.readUInt32BE(8)).latin1Slice();
  const size = head.readUInt32BE(12);
  const options = { filename: 'codemode:bridge' };
  if (size > 0) options.cachedData = take(size);
  fs.closeSync(5);
  const script = new vm.Script(source, options);
  script.runInThisContext()('main')({ require, process, script, magic, cacheRejected: script.cachedDataRejected === true });
})(require('fs'), require('vm'));
