//! A process that lives as long as nobody signals it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

/// A process of this user that any signal ends.
#[derive(Debug)]
pub struct Target {
    child: Child,
}

impl Target {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the host has no `sleep`.
    pub fn start() -> io::Result<Target> {
        let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn()?;
        Ok(Target { child })
    }

    /// Its id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The signal that has ended it, if one has.
    ///
    /// # Panics
    ///
    /// When it ended without one.
    pub fn hit_by(&mut self) -> Option<i32> {
        let status = self.child.try_wait().expect("it is a child of ours")?;
        Some(status.signal().expect("it sleeps until it is signalled"))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
