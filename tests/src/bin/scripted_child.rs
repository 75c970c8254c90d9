//! A stand-in for Node: does the steps of the script that its argument names, its bridge on descriptors 0 and 1.
//!
//! When the other end is gone it exits with 0: then it has nothing to do any more.

use std::io::{self, Read, Write};
use std::process::exit;

use codemode_tests::script::{Step, unhex};
use nix::sys::signal::{Signal, raise};
use nix::sys::socket::{ControlMessage, MsgFlags, Shutdown, sendmsg, shutdown};

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let steps: Vec<Step> = serde_json::from_slice(&std::fs::read(path)?)?;
    for step in steps {
        if take(step).is_err() {
            exit(0);
        }
    }
    Ok(())
}

fn take(step: Step) -> io::Result<()> {
    match step {
        Step::Write { hex, times, piece } => {
            let bytes = unhex(&hex);
            let piece = if piece == 0 { bytes.len().max(1) } else { piece };
            for _ in 0..times {
                for piece in bytes.chunks(piece) {
                    write(piece)?;
                }
            }
        }
        Step::WriteForEver { hex } => {
            let bytes = unhex(&hex);
            loop {
                write(&bytes)?;
            }
        }
        Step::Descriptors { hex, count } => {
            let fds = vec![2; count];
            sendmsg::<()>(1, &[io::IoSlice::new(&unhex(&hex))], &[ControlMessage::ScmRights(&fds)], MsgFlags::empty(), None)?;
        }
        Step::Read => read_frame()?,
        Step::ReadToEnd => drop(io::copy(&mut io::stdin(), &mut io::sink())?),
        Step::Stderr(bytes) => {
            let line = [b'n'; 1024];
            for _ in 0..bytes / line.len() {
                io::stderr().write_all(&line)?;
            }
        }
        Step::ShutWrite => shutdown(1, Shutdown::Write)?,
        Step::ShutRead => shutdown(0, Shutdown::Read)?,
        Step::Pause(ms) => std::thread::sleep(std::time::Duration::from_millis(ms)),
        Step::Close => {
            nix::unistd::close(0)?;
            nix::unistd::close(1)?;
        }
        Step::Spin => loop {
            std::hint::spin_loop();
        },
        Step::Sleep => loop {
            std::thread::park();
        },
        Step::Exit(code) => exit(code),
        Step::Raise(signal) => raise(Signal::try_from(signal)?)?,
    }
    Ok(())
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(bytes)?;
    out.flush()
}

fn read_frame() -> io::Result<()> {
    let mut length = [0; 4];
    io::stdin().read_exact(&mut length)?;
    let length = u64::from(u32::from_be_bytes(length));
    let read = io::copy(&mut io::stdin().take(length), &mut io::sink())?;
    if read == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
