//! Properties of what goes between the two ends of a run; `crate::property` hands them on.

use std::collections::VecDeque;

use codemode_protocol::property::gateway_text;

use super::LinkFault;
use super::arrived::Arrived;
use super::inbound::Inbound;
use super::outbound::Outbound;
use super::window::MOST_BYTES;
use crate::fleet::id::Id;
use crate::fleet::subjects::End;
use crate::fleet::wire::{Claim, HEAD, NoMessage, Parcel, offer, read_offer};
use crate::run::ErrorCode;

const TOKEN: [u8; Id::BYTES] = [9; Id::BYTES];

/// Small, so that short inputs reach it; a limit is the same rule at every size.
const SMALL: usize = 300;

/// Where the token and the number of a parcel stand.
const TOKEN_AT: usize = 3;
const NUMBER_AT: usize = TOKEN_AT + Id::BYTES;

/// Arbitrary bytes, taken piece by piece.
struct Steps<'a>(&'a [u8]);

impl<'a> Steps<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.take(1).first().copied()
    }

    /// So many bytes, or what is left.
    fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

fn inbound(limit: usize) -> Inbound {
    Inbound::new(Id::of(TOKEN), End::Worker, 0, limit)
}

/// One message, whatever it is: what can be read of it writes itself, and nothing is two things.
fn message(bytes: &[u8]) {
    let (parcel, claim, offered) = (Parcel::read(bytes), Claim::read(bytes), read_offer(bytes));
    if let Ok(parcel) = parcel {
        assert_eq!(parcel.write(), bytes);
    }
    if let Ok(claim) = &claim {
        assert_eq!(claim.write(), bytes);
    }
    if let Ok(id) = offered {
        assert_eq!(offer(&id), bytes);
    }
    assert!(u8::from(claim.is_ok()) + u8::from(offered.is_ok()) <= 1, "a claim is no offer");
    for refused in [parcel.err(), claim.err(), offered.err()].into_iter().flatten() {
        let NoMessage(why) = refused;
        assert!(!why.is_empty());
    }
}

/// Any bytes: messages to a receiver, or the steps of a pair.
pub(crate) fn of_bytes(bytes: &[u8]) {
    match bytes.split_first() {
        Some((first, rest)) if first & 1 == 0 => hostile(first >> 1, rest),
        Some((first, rest)) => pair(first >> 1, rest),
        None => message(bytes),
    }
}

/// What an end sends that keeps to nothing: messages, two bytes of length before each. Each is taken, or the link is over by a named fault; what is held is never more than a text that comes, one that
/// waits, and the window; a text that comes out is a message of the wire to gateways or a named violation.
///
/// `switches`: whether texts are as short as this is, whether they are taken, and whether the end knows the token and can count, which is how it gets anywhere.
fn hostile(switches: u8, bytes: &[u8]) {
    let mut steps = Steps(bytes);
    let [is_short, are_taken, knows] = [0, 1, 2].map(|bit| switches >> bit & 1 == 0);
    let limit = if is_short { SMALL } else { 1 << 20 };
    let mut arrived = Arrived::new(inbound(limit));
    let mut number = 0_u64;
    while let (Some(high), Some(low)) = (steps.byte(), steps.byte()) {
        let mut sent = steps.take(usize::from(u16::from_be_bytes([high, low]))).to_vec();
        if knows && sent.len() >= HEAD {
            number += 1;
            sent[TOKEN_AT..TOKEN_AT + Id::BYTES].copy_from_slice(&TOKEN);
            sent[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&number.to_be_bytes());
        }
        message(&sent);
        if let Err(fault) = arrived.take(&sent) {
            assert_eq!(fault.code(), ErrorCode::ProtocolViolation, "{fault}");
            return;
        }
        assert!(arrived.held() <= 2 * limit + MOST_BYTES, "{} bytes are held", arrived.held());
        if are_taken {
            while let Some(text) = arrived.next() {
                assert!(text.len() <= limit);
                gateway_text(&text);
            }
            assert!(arrived.tell() <= number || !knows);
        }
    }
}

/// An honest end, another one, and a network between. The steps decide who moves. What comes out is what went in, in its order; where the network is faithful (it delays, and brings things twice) all
/// of it comes and no fault is found, and where it loses and exchanges things the only fault is the gap, and what came before it is right.
fn pair(switches: u8, bytes: &[u8]) {
    let mut steps = Steps(bytes);
    let is_faithful = switches & 1 == 0;
    let mut pair = Pair::new(HEAD + 1 + usize::from(steps.byte().unwrap_or(40)));
    while let Some(what) = steps.byte() {
        let how_much = steps.byte().unwrap_or(0);
        if let Err(fault) = pair.step(what, how_much, is_faithful) {
            assert!(!is_faithful && matches!(fault, LinkFault::Gap { .. }), "{fault}");
            assert!(pair.went.starts_with(&pair.came));
            return;
        }
    }
    assert!(pair.went.starts_with(&pair.came));
    if is_faithful {
        pair.comes_to_rest();
        assert_eq!(pair.came, pair.went);
    }
}

/// Both ends of one direction, and what is on its way.
struct Pair {
    most: usize,
    out: Outbound<Vec<u8>>,
    arrived: Arrived,
    way: VecDeque<Vec<u8>>,
    last: Vec<u8>,
    told: u64,
    went: Vec<String>,
    came: Vec<String>,
}

impl Pair {
    fn new(max_payload: usize) -> Pair {
        Pair {
            most: max_payload,
            out: Outbound::new(Id::of(TOKEN), End::Worker, 0, max_payload),
            arrived: Arrived::new(inbound(1 << 20)),
            way: VecDeque::new(),
            last: Vec::new(),
            told: 0,
            went: Vec::new(),
            came: Vec::new(),
        }
    }

    fn step(&mut self, what: u8, how_much: u8, is_faithful: bool) -> Result<(), LinkFault> {
        match what % 8 {
            0 if self.out.is_idle() => {
                let text: String =
                    (0..usize::from(how_much) * 7).map(|at| char::from(b'a' + how_much.wrapping_add(at as u8) % 26)).collect();
                self.went.push(text.clone());
                self.out.load(text.into_bytes());
            }
            1 => self.way.extend(self.out.next(0)),
            2 => self.way.push_back(self.out.beat(0)),
            3 => {
                if let Some(message) = self.way.pop_front() {
                    assert!(message.len() <= self.most);
                    self.arrived.take(&message)?;
                    self.last = message;
                }
            }
            // What had come comes once more.
            4 if !self.last.is_empty() => assert_eq!(self.arrived.take(&self.last), Ok(None)),
            5 => {
                self.came.extend(self.arrived.next());
                self.told = self.arrived.tell();
            }
            6 => self.out.done(self.told)?,
            7 if !is_faithful && how_much & 1 == 0 => drop(self.way.pop_front()),
            7 if !is_faithful && self.way.len() > 1 => self.way.swap(0, 1),
            _ => {}
        }
        Ok(())
    }

    /// Nothing new goes in, and everything that has goes on.
    fn comes_to_rest(&mut self) {
        while self.came.len() < self.went.len() {
            let before = (self.came.len(), self.told);
            while let Some(message) = self.out.next(0) {
                self.way.push_back(message);
            }
            while let Some(message) = self.way.pop_front() {
                self.arrived.take(&message).expect("an honest end has no fault");
            }
            while let Some(text) = self.arrived.next() {
                self.came.push(text);
            }
            self.told = self.arrived.tell();
            self.out.done(self.told).expect("an honest end has no fault");
            assert_ne!((self.came.len(), self.told), before, "it stands still");
        }
    }
}
