//! A stand-in for Node that speaks for the jail object, which it is started without: records on descriptor 1, then frames on the bridge that came with its plan.

use std::io::{self, IoSliceMut, Write};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::exit;
use std::thread;
use std::time::Duration;

use codemode_jail::wire::{Event, FLAG_TEMPLATE, Order, PLAN_MAX, Plan, Record, STEPS, Step};
use codemode_tests::fault::Fault;
use codemode_tests::recorded::{FILE, Moment, Recorded};
use codemode_tests::script::{answer, framed, hello};
use nix::cmsg_space;
use nix::sys::signal::{Signal, raise};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, Shutdown, recv, recvmsg, send, shutdown};

const CONTROL: RawFd = 1;
const STALL: Duration = Duration::from_millis(150);

fn main() {
    let own = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    let folder = own.parent().map(PathBuf::from).unwrap_or_default();
    let recorded = std::fs::read(folder.join(FILE)).ok().and_then(|text| serde_json::from_slice::<Recorded>(&text).ok());
    let Some(recorded) = recorded else { exit(2) };
    let version = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if std::env::args().nth(1).as_deref() == Some("--version") {
        if tell_version(recorded, &version).is_err() {
            exit(1);
        }
        return;
    }
    // The other end has gone: it has nothing to do any more.
    if Child::new(recorded).and_then(|mut child| child.live()).is_err() {
        exit(3);
    }
}

fn tell_version(recorded: Recorded, version: &str) -> io::Result<()> {
    let mut out = io::stdout();
    let fails = (recorded.at == Moment::Version).then_some(recorded.fails);
    match fails {
        Some(Fault::Stop) => sleep(),
        Some(Fault::Die) => die(),
        Some(Fault::Late) => thread::sleep(STALL),
        Some(Fault::Twice) => writeln!(out, "{version}")?,
        Some(Fault::Garbage) => writeln!(out, "\u{1b}[2J no version")?,
        Some(Fault::Flood) => loop {
            writeln!(out, "{version}")?;
        },
        Some(Fault::Slowly) => {
            for sign in version.chars() {
                write!(out, "{sign}")?;
                out.flush()?;
                thread::sleep(Duration::from_millis(10));
            }
            return writeln!(out);
        }
        Some(Fault::Mute) => {
            nix::unistd::close(CONTROL)?;
            sleep();
        }
        Some(Fault::Deaf) => nix::unistd::close(0)?,
        None => {}
    }
    writeln!(out, "{version}")
}

fn sleep() -> ! {
    loop {
        thread::park();
    }
}

fn die() -> ! {
    // It cannot be caught, so nothing comes after it.
    let _ = raise(Signal::SIGKILL);
    exit(9)
}

struct Child {
    recorded: Recorded,
    bridge: RawFd,
    nonce: [u8; 16],
    steps: u32,
    is_template: bool,
    slow: bool,
    twice: bool,
}

impl Child {
    fn new(recorded: Recorded) -> io::Result<Child> {
        let mut bytes = vec![0; PLAN_MAX];
        let mut space = cmsg_space!([RawFd; 4]);
        let (length, bridge) = {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let message = recvmsg::<()>(CONTROL, &mut parts, Some(&mut space), MsgFlags::empty())?;
            let fds = message.cmsgs()?.find_map(|one| if let ControlMessageOwned::ScmRights(fds) = one { Some(fds) } else { None });
            let bridge = fds.and_then(|fds| fds.first().copied()).ok_or(io::ErrorKind::InvalidData)?;
            (message.bytes, bridge)
        };
        let plan = bytes.get(..length).and_then(Plan::decode).ok_or(io::ErrorKind::InvalidData)?;
        let is_template = plan.flags & FLAG_TEMPLATE != 0;
        Ok(Child { recorded, bridge, nonce: plan.nonce, steps: plan.steps, is_template, slow: false, twice: false })
    }

    fn live(&mut self) -> io::Result<()> {
        self.moment(Moment::Plan)?;
        let own = [Step::RunLimits, Step::ArmedFilter];
        for step in STEPS.into_iter().filter(|step| !own.contains(step)) {
            if self.steps & step.bit() != 0 {
                self.tell(Event::Step(step), 0)?;
            }
        }
        self.tell(Event::StageOne, 0)?;
        self.moment(Moment::StageOne)?;
        self.say(br#"J{"node":"v24.0.0","guest_realm":true,"barren_main_realm":true,"permission_model":true}"#)?;
        self.tell(Event::Gate, 0)?;
        loop {
            let mut bytes = [0; 256];
            let length = recv(CONTROL, &mut bytes, MsgFlags::empty())?;
            let order = bytes.get(..length).and_then(Order::decode).ok_or(io::ErrorKind::UnexpectedEof)?;
            self.nonce = order.nonce;
            self.moment(if self.is_template { Moment::Template } else { Moment::Order })?;
            if !self.is_template {
                break;
            }
            // It cannot fork, and says so.
            self.tell(Event::Forked, libc::EAGAIN.unsigned_abs())?;
        }
        for step in own {
            self.tell(Event::Step(step), 0)?;
        }
        self.tell(Event::Armed, 0)?;
        self.talk()
    }

    fn talk(&self) -> io::Result<()> {
        send(self.bridge, &framed(&hello().to_string()), MsgFlags::MSG_NOSIGNAL)?;
        let mut bytes = [0; 4096];
        recv(self.bridge, &mut bytes, MsgFlags::empty())?;
        send(self.bridge, &framed(&answer(1).to_string()), MsgFlags::MSG_NOSIGNAL)?;
        while recv(self.bridge, &mut bytes, MsgFlags::empty())? > 0 {}
        Ok(())
    }

    fn moment(&mut self, at: Moment) -> io::Result<()> {
        if at != self.recorded.at {
            return Ok(());
        }
        match self.recorded.fails {
            Fault::Stop => sleep(),
            Fault::Die => die(),
            Fault::Late => thread::sleep(STALL),
            Fault::Twice => self.twice = true,
            Fault::Garbage => self.say(b"no record of anybody")?,
            Fault::Slowly => self.slow = true,
            Fault::Flood => loop {
                io::stderr().write_all(&[b'x'; 65_536])?;
            },
            Fault::Mute => {
                shutdown(CONTROL, Shutdown::Write)?;
                sleep();
            }
            Fault::Deaf => shutdown(CONTROL, Shutdown::Read)?,
        }
        Ok(())
    }

    fn tell(&mut self, event: Event, errno: u32) -> io::Result<()> {
        let record = Record { nonce: self.nonce, event, errno, detail: 0 }.encode();
        self.say(&record)?;
        if std::mem::take(&mut self.twice) { self.say(&record) } else { Ok(()) }
    }

    fn say(&self, message: &[u8]) -> io::Result<()> {
        if self.slow {
            thread::sleep(Duration::from_millis(20));
        }
        send(CONTROL, message, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }
}
