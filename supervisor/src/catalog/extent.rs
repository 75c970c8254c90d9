//! How deep and how large a value is, asked without keeping anything of it.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// Whether arrays and objects lie in each other at most so deep. It goes no deeper than that itself.
pub(crate) fn within_depth(value: &Value, levels: u32) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Array(items), Some(left)) => items.iter().all(|item| within_depth(item, left)),
        (Value::Object(fields), Some(left)) => fields.values().all(|field| within_depth(field, left)),
        _ => true,
    }
}

/// Whether the value's JSON takes at most so many bytes.
pub(crate) fn fits_in(value: &Value, bytes: usize) -> bool {
    struct Room(usize);
    impl io::Write for Room {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(text.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(bytes), value).is_ok()
}

/// The bytes of a value's JSON text, without making it.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0 += text.len();
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and what is asked about has JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
