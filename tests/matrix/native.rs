//! Rows made of system calls.

use codemode::launch::{Given, Outcome, Probes, WallSet, syscall_name};
use codemode_jail::wire::{ACTS, Argument, Call};
use nix::sys::signal::Signal;

use crate::cells::Around;
use crate::rows::Means;

/// Tries an act or a list of calls behind walls.
///
/// # Panics
///
/// When the text of the row cannot be read.
pub async fn attempt(probes: &Probes, means: &Means, text: &str, around: Around) -> (Given, Outcome) {
    let (given, text) = given(text);
    let walls: WallSet = around.walls();
    let outcome = if let Means::Act(_) = means {
        let mut words = text.split_whitespace();
        let name = words.next().expect("the name of an act");
        let act = *ACTS.iter().find(|act| format!("{act:?}") == name).unwrap_or_else(|| panic!("no act {name}"));
        let number = words.next().map_or(0, |word| word.parse().expect("a number"));
        probes.act(walls, given, act, number, words.next().unwrap_or_default()).await
    } else {
        let (calls, data) = parse(text);
        probes.calls(walls, given, &calls, &data).await
    };
    (given, outcome.unwrap_or_else(|error| Outcome::Lost(error.to_string())))
}

/// How a process was ended.
pub fn ended(signal: i32, call: Option<u32>) -> String {
    let signal = Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned());
    match call {
        Some(call) => format!("{signal}: {}", syscall_name(call).unwrap_or("no call")),
        None => signal,
    }
}

fn given(text: &str) -> (Given, &str) {
    let known = [("unprivileged", Given::Unprivileged), ("no_new_privs", Given::NoNewPrivs), ("rights", Given::Rights)];
    let with = |(word, given)| Some((given, text.trim_start().strip_prefix(word)?.strip_prefix(':')?));
    known.into_iter().find_map(with).unwrap_or((Given::Nothing, text))
}

/// Calls, one a line: a name or number, then up to six arguments: a number (decimal, `0x…` or negative), `'text'` or `"text"` for the address of it, `@tcp PORT`,
/// `@udp PORT` or `@abstract NAME` for the address of a socket's, `@room` for that of 512 zero bytes, `%N` for the answer of the Nth call.
///
/// # Panics
///
/// When it is nothing of that.
pub fn parse(text: &str) -> (Vec<Call>, Vec<u8>) {
    let mut data = Vec::new();
    let calls = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| call(line, &mut data)).collect();
    (calls, data)
}

fn call(line: &str, data: &mut Vec<u8>) -> Call {
    let (name, mut rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = name.parse().unwrap_or_else(|_| number_of(name));
    let mut args = [Argument::Number(0); 6];
    for slot in &mut args {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let (argument, left) = argument(rest, data);
        *slot = argument;
        rest = left;
    }
    assert!(rest.trim().is_empty(), "too many arguments: {line}");
    Call { number, args }
}

/// The number of a call of this processor.
///
/// # Panics
///
/// When there is no such call.
pub fn number_of(name: &str) -> u32 {
    (0..1024).find(|number| syscall_name(*number) == Some(name)).unwrap_or_else(|| panic!("no call {name}"))
}

fn argument<'a>(text: &'a str, data: &mut Vec<u8>) -> (Argument, &'a str) {
    let word = |text: &'a str| text.split_once(' ').unwrap_or((text, ""));
    let mut place = |bytes: &[u8]| {
        // Structures of the kernel want to be aligned.
        data.resize(data.len().next_multiple_of(8), 0);
        let at = data.len() as u64;
        data.extend_from_slice(bytes);
        Argument::Data(at)
    };
    if let Some(quoted) = text.strip_prefix('\'') {
        let (inside, rest) = quoted.split_once('\'').expect("a text ends");
        return (place(&[inside.as_bytes(), b"\0"].concat()), rest);
    }
    let (first, rest) = word(text);
    if let Some(kind) = first.strip_prefix('@') {
        let (value, left) = word(rest.trim_start());
        return match kind {
            "tcp" | "udp" => (place(&loopback(value.parse().expect("a port"))), left),
            "abstract" => (place(&[&1_u16.to_ne_bytes()[..], b"\0", value.as_bytes()].concat()), left),
            "path" => (place(&[&1_u16.to_ne_bytes()[..], value.as_bytes(), b"\0"].concat()), left),
            "hex" => (place(&codemode_tests::script::unhex(value)), left),
            "room" => (place(&[0; 512]), rest),
            _ => panic!("no address {kind}"),
        };
    }
    if let Some(index) = first.strip_prefix('%') {
        return (Argument::Answer(index.parse::<u64>().expect("the number of a call") - 1), rest);
    }
    (Argument::Number(number(first)), rest)
}

fn number(word: &str) -> u64 {
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).expect("a number");
    }
    word.parse::<i64>().unwrap_or_else(|_| panic!("no number: {word}")).cast_unsigned()
}

/// `struct sockaddr_in` of 127.0.0.1.
fn loopback(port: u16) -> Vec<u8> {
    [&2_u16.to_ne_bytes()[..], &port.to_be_bytes(), &[127, 0, 0, 1], &[0; 8]].concat()
}
